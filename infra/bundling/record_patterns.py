"""Write down what `re` compiles for the AWS client: `python -I -S record_patterns.py FOLDER`, a folder of packages.

A script of its own, since another interpreter runs it. What it imports is Python alone, whatever machine the layer is
for; a pattern that is not written down is compiled at each start, as without this.
"""

import importlib
import marshal
import os
import re
import sys
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import SimpleNamespace
from typing import Any

# All that the library imports of the client, and so Python's own modules that these stand upon.
IMPORTED = (
    "asyncio",
    "logging",
    "botocore.session",
    "botocore.client",
    "botocore.config",
    "botocore.credentials",
)

# Made with every kit: what a client asks for when it is made, and not before.
CLIENTS = ("dynamodb", "sqs")
# Nothing of this machine's has a say; no client that is made here is used.
ENVIRONMENT = {
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
}

Compiled = dict[tuple[Any, int], bytes]


def record(folder: Path) -> Compiled:
    """What each pattern is compiled to, by the pattern and its flags."""
    compiler: Any = re._compiler  # type: ignore[attr-defined]  # noqa: SLF001 - the module that `re` asks
    codes: Compiled = {}
    asked: list[tuple[Any, int]] = []
    compile_it, engine = compiler.compile, compiler._sre  # noqa: SLF001 - what it asks in turn

    def noting(pattern: Any, flags: int = 0) -> Any:  # noqa: ANN401 - text, bytes, or what was parsed before
        asked.append((pattern, int(flags)))
        return compile_it(pattern, flags)

    def noted(pattern: Any, flags: int, code: list[int], *groups: Any) -> Any:  # noqa: ANN401 - the engine's own
        if type(pattern) in {str, bytes}:
            # The compiler's numbers are named ones.
            codes[asked[-1]] = marshal.dumps((int(flags), [int(one) for one in code], *groups))
        return engine.compile(pattern, flags, code, *groups)

    compiler.compile, compiler._sre = noting, SimpleNamespace(**{**vars(engine), "compile": noted})  # noqa: SLF001
    re.purge()
    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    sys.path.insert(0, str(folder))
    for name in IMPORTED:
        importlib.import_module(name)
    session = importlib.import_module("botocore.session").Session()
    for service in CLIENTS:
        session.create_client(service)
    return codes


def main() -> None:
    """Record, and write the file beside the packages."""
    folder = Path(sys.argv[1])
    engine: int = re._compiler.MAGIC  # type: ignore[attr-defined]  # noqa: SLF001 - whose codes they are
    interpreter = f"{sys.implementation.cache_tag}-{MAGIC_NUMBER.hex()}-{engine}"
    codes = record(folder)
    in_order = dict(sorted(codes.items(), key=repr))
    (folder / f"patterns.{interpreter}.marshal").write_bytes(marshal.dumps(in_order))


if __name__ == "__main__":
    main()
