"""What the operator does before a tenant can call: makes a key, lists keys, revokes one; through the command itself."""

import subprocess
import sys
from dataclasses import dataclass

from tests.deploy.app import STAGE
from tests.deploy.ground import ROOT, Ground, Missed

_LIBRARY = ":".join(str(ROOT / "layers" / part / "python") for part in ("core", "sdk"))


@dataclass(frozen=True, slots=True)
class Operator:
    """Whoever has the AWS credentials of the installation."""

    ground: Ground

    def make(self, tenant: str, *more: str) -> str:
        """A key's secret: all that the command prints to whom it is piped."""
        said = self._keys("make", "--tenant", tenant, *more).splitlines()
        assert len(said) == 1, said
        return said[0]

    def listed(self, tenant: str) -> list[list[str]]:
        """A tenant's keys: id, state, ..."""
        return [line.split() for line in self._keys("list", "--tenant", tenant).splitlines()]

    def revoke(self, tenant: str, key: str) -> None:
        """End one."""
        self._keys("revoke", "--tenant", tenant, "--key", key)

    def _keys(self, action: str, *arguments: str) -> str:
        asked = subprocess.run(
            [sys.executable, "-m", "tickwright.operator", "keys", action, "--stage", STAGE, *arguments],
            cwd=ROOT,
            env=self.ground.environment | {"PYTHONPATH": _LIBRARY},
            capture_output=True,
            text=True,
            check=False,
        )
        if asked.returncode != 0:
            raise Missed(f"keys {action} ended with {asked.returncode}: {asked.stderr}")
        return asked.stdout
