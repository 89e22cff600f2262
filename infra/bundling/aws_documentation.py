"""Takes what writes documentation out of a copy of botocore: nobody asks a function for help().

Must not change what a client does. Every client imports these makers, and with them Python's readers of HTML: they
would be a twentieth of a cold start.
"""

import shutil
from pathlib import Path

# What a client gives its methods in place of their documentation, by the names that botocore asks for.
_NO_DOCSTRINGS = '''"""No documentation: Tickwright's layer ships this file in place of botocore's own."""


class _Nothing(str):
    __slots__ = ()

    def __new__(cls, *args: object, **kwargs: object):
        """An empty text, whatever it would have been made from."""
        return super().__new__(cls)


class ClientMethodDocstring(_Nothing):
    """Of an operation."""


class PaginatorDocstring(_Nothing):
    """Of a paginator."""


class WaiterDocstring(_Nothing):
    """Of a waiter."""
'''
# Its handlers are made from these at each import.
_STAYS = "utils.py"


def leave_out_documentation(botocore: Path) -> None:
    """Empty its package of documentation, but for what others import of it."""
    docs = botocore / "docs"
    for path in sorted(docs.iterdir()):
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != _STAYS:
            path.unlink()
    (docs / "__init__.py").write_text('"""Without documentation: see docstring.py."""\n', encoding="utf-8")
    (docs / "docstring.py").write_text(_NO_DOCSTRINGS, encoding="utf-8")
