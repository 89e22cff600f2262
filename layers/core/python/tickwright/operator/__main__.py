"""`python -m tickwright.operator keys make --stage dev --tenant acme`: the operator's commands, one table of them.

They go to the tables with the caller's own AWS credentials and region, never through the API. The exit status is 2
where the installation was not found or nothing could be asked. Handbook: docs/deploy.md.
"""

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from tickwright.operator import keys
from tickwright.operator.commands import Command
from tickwright.wiring.operator import InstallationUnreachable, installed

COMMANDS: tuple[Command, ...] = (*keys.COMMANDS,)
UNREACHABLE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command; its exit status."""
    asked = _parser().parse_args(sys.argv[1:] if arguments is None else arguments)
    try:
        return asyncio.run(_done(asked))
    except InstallationUnreachable as fault:
        print(f"tickwright: {fault}", file=sys.stderr)
        return UNREACHABLE


async def _done(asked: Namespace) -> int:
    command: Command = asked.command
    return await command.does(installed(asked.stage), asked)


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="tickwright.operator", description="Operate an installation of Tickwright on AWS.")
    things = parser.add_subparsers(required=True, metavar="THING")
    known: dict[str, ArgumentParser] = {}
    actions = {}
    for command in COMMANDS:
        thing, action = command.words
        if thing not in known:
            known[thing] = things.add_parser(thing, help=f"what can be done with {thing}")
            actions[thing] = known[thing].add_subparsers(required=True, metavar="ACTION")
        made = actions[thing].add_parser(action, help=command.says, description=command.says)
        made.add_argument("--stage", required=True, help="which installation: the name of its stage")
        command.arguments(made)
        made.set_defaults(command=command)
    return parser


if __name__ == "__main__":
    sys.exit(main())
