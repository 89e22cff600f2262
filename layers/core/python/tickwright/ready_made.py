"""What making a dataclass compiles, brought along compiled: it was up to a third of a cold start's processor time.

Python writes the methods of each dataclass as text and compiles it when the class is made; no compiled file keeps them.
A layer has them in a file beside this one, which infra/bundling makes with the interpreter that will read it. The text
decides: one that is not in the file, or a package without the file, is compiled as ever.
"""

import dataclasses
import marshal
import sys
from collections.abc import Mapping
from functools import partial
from importlib.util import MAGIC_NUMBER
from pathlib import Path

# Named by what tells compiled files of one interpreter from those of another.
FILE = Path(__file__).with_name(f"dataclasses.{sys.implementation.cache_tag}-{MAGIC_NUMBER.hex()}.marshal")


def use_ready_made(file: Path = FILE) -> bool:
    """Let dataclasses take what is there; whether there is anything."""
    try:
        codes = marshal.loads(file.read_bytes())  # noqa: S302 - of this very package, as its compiled files are
    except FileNotFoundError:
        return False
    # The module calls `exec` with a text; a name of its own comes before the built-in one.
    vars(dataclasses)["exec"] = partial(_run, codes)
    return True


def _run(codes: Mapping[str, bytes], text: str, names: dict[str, object], made: dict[str, object]) -> None:
    """As `exec` does. Each code is read when it is asked for: no function needs all of them."""
    code = codes.get(text)
    exec(text if code is None else marshal.loads(code), names, made)  # noqa: S102, S302 - what dataclasses would run
