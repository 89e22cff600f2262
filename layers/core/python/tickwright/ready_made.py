"""What Python compiles at each start, brought along compiled: it was up to two fifths of a cold start's processor time.

Python writes the methods of each dataclass as text and compiles it when the class is made, and each regular expression
when it is asked for; no compiled file keeps them. The layers have them in two files, which infra/bundling makes with
the interpreter that will read them. The text decides: what is not in a file, or has none, is compiled as ever.
"""

import dataclasses
import marshal
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from typing import Any

_RE: Any = re._compiler  # type: ignore[attr-defined]  # noqa: SLF001 - the module that `re` asks
# Named by what tells compiled files of one interpreter, and codes of one engine of `re`, from those of another.
_INTERPRETER = f"{sys.implementation.cache_tag}-{MAGIC_NUMBER.hex()}"
DATACLASSES = Path(__file__).with_name(f"dataclasses.{_INTERPRETER}.marshal")
PATTERNS = Path(__file__).parent.with_name(f"patterns.{_INTERPRETER}-{_RE.MAGIC}.marshal")


def use_ready_made(dataclasses_file: Path = DATACLASSES, patterns_file: Path = PATTERNS) -> int:
    """Let Python take what is there; how many files there are."""
    return _use_dataclasses(dataclasses_file) + _use_patterns(patterns_file)


def _use_dataclasses(file: Path) -> bool:
    if (codes := _read(file)) is None:
        return False
    # The module calls `exec` with a text; a name of its own comes before the built-in one.
    vars(dataclasses)["exec"] = partial(_run, codes)
    return True


def _use_patterns(file: Path) -> bool:
    if (codes := _read(file)) is None:
        return False
    _RE.compile = partial(_pattern, codes, _RE.compile, _RE._sre.compile)  # noqa: SLF001 - as above
    return True


def _read(file: Path) -> Mapping[Any, bytes] | None:
    try:
        codes: Mapping[Any, bytes] = marshal.loads(file.read_bytes())  # noqa: S302 - packed with this very package
    except FileNotFoundError:
        return None
    return codes


def _run(codes: Mapping[str, bytes], text: str, names: dict[str, object], made: dict[str, object]) -> None:
    """As `exec` does. Each code is read when it is asked for: no function needs all of them."""
    code = codes.get(text)
    exec(text if code is None else marshal.loads(code), names, made)  # noqa: S102, S302 - what dataclasses would run


def _pattern(
    codes: Mapping[Any, bytes],
    compile_it: Callable[[Any, int], re.Pattern[Any]],
    engine: Callable[..., re.Pattern[Any]],
    pattern: object,
    flags: int = 0,
) -> re.Pattern[Any]:
    """As `re` compiles it. The engine looks at every code before it takes it."""
    code = codes.get((pattern, flags)) if type(pattern) in {str, bytes} else None
    if code is None:
        return compile_it(pattern, flags)
    return engine(pattern, *marshal.loads(code))  # noqa: S302 - as above
