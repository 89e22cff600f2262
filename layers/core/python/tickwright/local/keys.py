"""`python -m tickwright.local.keys`: make a key for the local program's data, of any tenant and with any scopes.

The program may run meanwhile. A tenant is there as soon as a key of it is; nothing else makes one. The secret is shown
this once and kept nowhere. Promise: SEM-KEY-1.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from tickwright.api.keys import make_key
from tickwright.domain.ids import TenantId
from tickwright.operator.keys import add_scopes, tenant
from tickwright.wiring.embedded import StoreUnusable, embedded_kit


def _asked(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tickwright.local.keys", description="Make an API key for local data.")
    parser.add_argument("--tenant", type=tenant, default=TenantId("demo"), help="whose key (default: %(default)s)")
    add_scopes(parser)
    parser.add_argument("--data", type=Path, default=Path(".tickwright"), help="folder of the data")
    return parser.parse_args(arguments)


async def _made(asked: argparse.Namespace) -> str:
    path = asked.data.resolve() / "tickwright.db"
    if not path.is_file():
        raise StoreUnusable(
            f"there is no data in {path.parent}; start the program once, or name its folder with --data"
        )
    async with embedded_kit(path) as kit:
        secret, _ = await make_key(kit, asked.tenant, scopes=asked.scopes, label="made locally")
    return secret


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a new key; the exit status is 2 where there is no data to make it for."""
    try:
        secret = asyncio.run(_made(_asked(sys.argv[1:] if arguments is None else arguments)))
    except (StoreUnusable, OSError) as fault:
        print(f"tickwright: {fault}", file=sys.stderr)
        return 2
    print(secret)
    return 0


if __name__ == "__main__":
    sys.exit(main())
