"""What the operator does with CDK's command line: bootstrap, deploy, destroy; the same commands as in docs/deploy.md.

Must not know what is in the app.
"""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.deploy.app import ACCOUNT, REGION
from tests.deploy.ground import ROOT, Ground, done

# What docs/deploy.md says of each, and what is said here besides: where, and that nobody is asked.
BOOTSTRAP, DIFF, DEPLOY, DESTROY = ("bootstrap",), ("diff",), ("deploy", "--all"), ("destroy", "--all")
CDK = ROOT / "node_modules" / ".bin" / "cdk"
_WITHIN_S = 600
_ALWAYS = ("--no-notices", "--no-color")


@dataclass(slots=True, kw_only=True)
class Cdk:
    """The command line on one ground. `tree`: the version of the product that is deployed."""

    ground: Ground
    deploys: int = field(default=0, init=False)

    def bootstrap(self) -> None:
        """Make what CDK needs in an account and region."""
        self._call(BOOTSTRAP, f"aws://{ACCOUNT}/{REGION}", tree=ROOT)

    def deploy(self, tree: Path) -> dict[str, Any]:
        """Deploy all stacks as this tree has them; their outputs."""
        self.deploys += 1
        outputs = self.ground.folder / f"outputs-{self.deploys}.json"
        self._call(DEPLOY, "--require-approval", "never", "--outputs-file", str(outputs), tree=tree)
        found: dict[str, Any] = json.loads(outputs.read_text(encoding="utf-8"))
        return found

    def diff(self, tree: Path) -> str:
        """What a deploy of this tree would change, in CDK's words."""
        # Without a change set for each stack, which nobody looks at here.
        return self._call(DIFF, "--method", "template", tree=tree)

    def destroy(self, tree: Path) -> None:
        """Take all stacks away."""
        self._call(DESTROY, "--force", tree=tree)

    def _call(self, command: tuple[str, ...], *more: str, tree: Path) -> str:
        folder = self.ground.folder
        env = self.ground.environment | {
            "TICKWRIGHT_STAGE": "local",
            # Its notes on accounts and its cache belong to this test.
            "CDK_HOME": str(folder / "cdk-home"),
            # The gate has judged the templates; it would take longer here than to deploy them.
            "CDK_VALIDATION": "false",
            "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
            # The app of this tree, and no other.
            "PYTHONPATH": str(tree),
        }
        app = f"{sys.executable} -m tests.deploy.app"
        where = ("--app", app, "--output", str(folder / f"cdk-{tree.name}"))
        log = folder / f"cdk-{command[0]}.log"
        done([str(CDK), *command, *more, *where, *_ALWAYS], cwd=tree, env=env, log=log, within_s=_WITHIN_S)
        return log.read_text(encoding="utf-8")
