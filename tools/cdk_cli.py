"""Install the pinned CDK command line, once: `python tools/cdk_cli.py`.

`cdk diff` and `cdk deploy` need it; synthesis, the gate and the tests do not. A machine without npm is told so.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "package-lock.json"
STAMP = ROOT / "node_modules" / ".installed"


def main() -> int:
    fingerprint = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if STAMP.is_file() and STAMP.read_text() == fingerprint:
        return 0
    npm = shutil.which("npm")
    if npm is None:
        print("\n!!!!!!!! npm is missing: no CDK command line (cdk diff, cdk deploy). Tests go on.\n", file=sys.stderr)
        return 0
    print("Installing the CDK command line in node_modules ...", file=sys.stderr, flush=True)
    if subprocess.run([npm, "ci", "--silent"], cwd=ROOT, stdout=sys.stderr, check=False).returncode != 0:
        sys.exit("This step failed: npm ci")
    STAMP.write_text(fingerprint)
    return 0


if __name__ == "__main__":
    sys.exit(main())
