"""The worker of the pool `fargate`: serves its lanes until SIGTERM, lets end what ends in time, gives back what stops.

A plain process with the environment of an installation: `python -m functions.fargate_worker.main`. A second signal,
half a second later at least, gives back at once. Promises: SEM-FLEET-1 to SEM-FLEET-3.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Coroutine, Iterator
from dataclasses import asdict

from tickwright.domain.ids import WorkerId
from tickwright.domain.pools import FARGATE
from tickwright.fleet_settings import FleetRefused, fleet_from_environment
from tickwright.loops.census import CensusLoop
from tickwright.loops.guard import GuardLoop
from tickwright.loops.worker import WorkerLoop
from tickwright.wiring.fleet import Machine, machine_from_env
from tickwright_sdk.health import Health, serving
from tickwright_sdk.signals import heed_signals

REFUSED = 2  # the exit status of a machine whose environment cannot be


async def serve(machine: Machine) -> None:
    """Work until told to stop; what the machine is beside its work ends with it."""
    settings, stop = machine.settings, asyncio.Event()
    worker = WorkerLoop(
        machine.kit,
        machine.runners,
        WorkerId(f"fargate-{machine.kit.entropy.token()}"),
        places=settings.places,
        pools=(FARGATE,),
        poll_ms=settings.poll_ms,
        grace_ms=settings.grace_ms,
        able=lambda _, lane, most: machine.hands.places_of(most, share=lane.value),
    )
    heed_signals(stop.set, worker.let_go)

    def condition() -> Health:
        hands = machine.hands.condition()
        facts = {"fleet": settings.fleet, "atWork": worker.at_work, "draining": stop.is_set()}
        return Health(is_well=hands.is_well, body=facts | asdict(hands))

    async with serving(condition, host="127.0.0.1", port=settings.health_port):
        beside = [asyncio.create_task(one) for one in _beside(machine, worker, stop)]
        try:
            await worker.run(stop)
        finally:
            for one in beside:
                one.cancel()
            await machine.hands.close()


def _beside(machine: Machine, worker: WorkerLoop, stop: asyncio.Event) -> Iterator[Coroutine[None, None, None]]:
    yield CensusLoop(machine.kit, lambda: worker.at_work, machine.settings.places_of_all).run(stop)
    if machine.protection is not None:
        yield GuardLoop(machine.kit, machine.protection, lambda: worker.at_work > 0).run(stop)


def main() -> int:
    """Serve; the exit status."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    try:
        machine = machine_from_env(os.environ, fleet_from_environment(os.environ))
    except (FleetRefused, KeyError) as fault:
        print(f"tickwright: {fault}", file=sys.stderr)  # noqa: T201 - nothing else works yet
        return REFUSED
    asyncio.run(serve(machine))
    return 0


if __name__ == "__main__":
    status = main()
    logging.shutdown()
    # Code of a handler that never ends must not hold the machine until it is killed: what it wrote is fenced.
    os._exit(status)
