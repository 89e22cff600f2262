"""What layers are made for: whose wheels they hold, and which interpreter compiles them.

Must not know CDK. Lambda is the only answer of an installation on AWS; another machine's is for running the very same
archives there (docs/deploy.md).
"""

import platform
import re
import sys
from dataclasses import dataclass
from typing import Self

from infra.required import require

_PYTHON = re.compile(r"3\.\d{1,3}")
_WHEELS = re.compile(r"(aarch64|x86_64)-manylinux2014")
# The names that kernels have for what wheels are tagged with.
_PROCESSORS = {"aarch64": "aarch64", "arm64": "aarch64", "x86_64": "x86_64", "amd64": "x86_64"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Packaging:
    """`python`: the interpreter's version, major and minor. `wheels`: the platform as uv calls it."""

    python: str
    wheels: str

    def __post_init__(self) -> None:
        """Refuse what no wheel is tagged with."""
        require(bool(_PYTHON.fullmatch(self.python)), "Packaging.python", self.python, "such as 3.13")
        allowed = "aarch64-manylinux2014 or x86_64-manylinux2014"
        require(bool(_WHEELS.fullmatch(self.wheels)), "Packaging.wheels", self.wheels, allowed)

    @classmethod
    def of_this_machine(cls) -> Self:
        """What runs under the interpreter that asks."""
        processor = _PROCESSORS[platform.machine().lower()]
        return cls(python=f"{sys.version_info.major}.{sys.version_info.minor}", wheels=f"{processor}-manylinux2014")


# Lambda's Python 3.13 on arm64.
LAMBDA = Packaging(python="3.13", wheels="aarch64-manylinux2014")
