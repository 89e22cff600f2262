"""Submit: once for a request, whole or not at all, and dispatched at once if it is due."""

from tests.support.kits import World


async def test_a_job_runs_at_its_time(world: World) -> None:
    """A one-off in a minute runs once, at its instant."""
    head = await world.submit()

    steps = await world.drain()

    execution = await world.only_execution(head.job_id)
    assert (execution.state.value, steps < 10) == ("SUCCEEDED", True)
    assert [start.at for start in world.runner.starts] == [head.next_run_at]
