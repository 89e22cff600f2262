"""`python -m tickwright.operator keys make --stage dev --tenant acme`: the operator's commands, one table of them.

They go to the tables with the caller's own AWS credentials and region, never through the API. The exit status is 2
where arguments are wrong, the installation was not found or nothing could be asked. Handbook: docs/deploy.md.
"""

import asyncio
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence

from tickwright.operator import intake, keys, recovery, tenants
from tickwright.operator.commands import Command
from tickwright.wiring.operator import InstallationUnreachable, installed

COMMANDS: tuple[Command, ...] = (*keys.COMMANDS, *tenants.COMMANDS, *recovery.COMMANDS, *intake.COMMANDS)
MISTAKEN = UNREACHABLE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command; its exit status."""
    asked = parser().parse_args(sys.argv[1:] if arguments is None else arguments)
    if (why := asked.command.misfit(asked)) is not None:
        print(f"tickwright: {why}", file=sys.stderr)
        return MISTAKEN
    try:
        return asyncio.run(_done(asked))
    except InstallationUnreachable as fault:
        print(f"tickwright: {fault}", file=sys.stderr)
        return UNREACHABLE


async def _done(asked: Namespace) -> int:
    command: Command = asked.command
    found = installed(asked.stage)
    print(f"tickwright: the stage {asked.stage!r} of {found.place}", file=sys.stderr)
    return await command.does(found, asked)


def parser() -> ArgumentParser:
    """What the table of commands takes."""
    whole = ArgumentParser(
        prog="tickwright.operator",
        description="Operate an installation of Tickwright on AWS.",
        epilog="\n".join(("commands:", *(f"  {' '.join(one.words):20}{one.says}" for one in COMMANDS))),
        formatter_class=RawDescriptionHelpFormatter,
    )
    things = whole.add_subparsers(required=True, metavar="THING")
    for thing in dict.fromkeys(command.words[0] for command in COMMANDS):
        told = things.add_parser(thing, help=f"what can be done with {thing}")
        actions = told.add_subparsers(required=True, metavar="ACTION")
        for command in COMMANDS:
            if command.words[0] == thing:
                made = actions.add_parser(command.words[1], help=command.says, description=command.says)
                made.add_argument("--stage", required=True, help="which installation: the name of its stage")
                command.arguments(made)
                made.set_defaults(command=command)
    return whole


if __name__ == "__main__":
    sys.exit(main())
