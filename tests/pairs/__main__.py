"""`python -m tests.pairs`: every pair of operations, in every order, with and without a death.

PLANT (a bug to put in), JOBS (processes; as many as there are processors) and SCENE (one alone) come from the
environment or as NAME=value. A table goes to stdout, its last line is JSON. Exit status: 1 if a promise was broken.
With a plant it ends at the first violation: there is no more to prove.
"""

import json
import multiprocessing
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass

from tests.pairs import plants
from tests.pairs.explore import Found, explored_alone
from tests.pairs.scenes import OF_THE_DEAD, OF_THE_RUNNING, OPERATIONS, SCENES, Meeting, meetings


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for."""

    plant: str
    jobs: int
    scene: str


def options(arguments: list[str]) -> Options:
    """Of the environment and of the command."""
    given = {**os.environ, **dict(argument.partition("=")[::2] for argument in arguments)}
    plant, scene = given.get("PLANT", ""), given.get("SCENE", "")
    if plant and plant not in plants.PLANTS:
        raise SystemExit(f"PLANT={plant} is none of {', '.join(plants.PLANTS)}")
    if scene and scene not in SCENES:
        raise SystemExit(f"SCENE={scene} is none of {', '.join(SCENES)}")
    return Options(plant=plant, jobs=int(given.get("JOBS") or os.cpu_count() or 1), scene=scene)


def explored_all(asked: Options) -> Iterator[Found]:
    """Each meeting in one of several processes, into which the plant is put; the long ones first, for a plant last."""
    wanted = [meeting for meeting in meetings() if asked.scene in {"", meeting.scene}]
    wanted.sort(key=lambda meeting: ("edit" in {meeting.one, meeting.other}) == bool(asked.plant))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(asked.jobs, context, initializer=plants.install, initargs=(asked.plant,)) as pool:
        for done in as_completed([pool.submit(explored_alone, meeting) for meeting in wanted]):
            found = done.result()
            yield found
            if asked.plant and found.violations:
                pool.shutdown(cancel_futures=True)
                return


def table(found: Iterable[Found]) -> Iterator[str]:
    """A line a pair: where it met, in how many orders, with how many different endings, and what was wrong."""
    pairs: dict[tuple[str, str], list[Found]] = defaultdict(list)
    for one in found:
        pairs[one.meeting.one, one.meeting.other].append(one)
    yield f"{'pair':24}{'scenes':40}{'orders':>8}{'endings':>9}{'wrong':>7}"
    order = (*OPERATIONS, *OF_THE_DEAD, *OF_THE_RUNNING)
    for (first, second), those in sorted(pairs.items(), key=lambda item: [order.index(name) for name in item[0]]):
        scenes = ", ".join(sorted(each.meeting.scene for each in those))
        orders, endings = sum(each.orders for each in those), sum(each.endings for each in those)
        wrong = sum(len(each.violations) for each in those)
        yield f"{f'{first} + {second}':24}{scenes:40}{orders:8}{endings:9}{wrong:7}"


def main() -> int:
    """All of it."""
    asked = options(sys.argv[1:])
    began = time.monotonic()
    found: list[Found] = []
    for one in explored_all(asked):
        found.append(one)
        for violation in one.violations[:3]:
            print(f"pairs: {_named(one.meeting)}: {violation}", file=sys.stderr)
    print("\n".join(table(found)))
    violations = sum(len(one.violations) for one in found)
    told = {
        "pairs": len({(one.meeting.one, one.meeting.other) for one in found}),
        "meetings": len(found),
        "interleavings": sum(one.orders for one in found),
        "endings": sum(one.endings for one in found),
        "violations": violations,
        "seconds": round(time.monotonic() - began, 1),
        "plant": asked.plant,
    }
    print(json.dumps(told))
    return 1 if violations else 0


def _named(meeting: Meeting) -> str:
    return f"{meeting.one} + {meeting.other} in {meeting.scene}"


if __name__ == "__main__":
    sys.exit(main())
