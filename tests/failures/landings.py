"""Stories of submissions that were accepted while the store did not answer, and of whoever lands them.

Must not know where the process dies. The message comes again until somebody is done with it.
"""

import json
from dataclasses import dataclass, field

from tests.failures.use_cases import NotAcknowledged, UseCase
from tests.support.builders import TENANT, an_id
from tests.support.kits import TARGET, World
from tests.support.ledger import check_all, check_ledger
from tickwright.api.call import Api
from tickwright.api.landing import land
from tickwright.domain.ids import JobId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import JobStatus
from tickwright.ports.intake import Submission
from tickwright.services.kit import Kit

JOB = JobId(an_id(2**41))


@dataclass(repr=False)
class Land(UseCase):
    """One that was accepted a while ago, due by now or in a minute; the name it wants is free."""

    is_request: bool = True
    due_in_ms: int = 60_000
    submission: Submission = field(init=False)

    @property
    def name(self) -> str:
        """The story's name, with when its job is due."""
        return f"Land({self.due_in_ms})"

    async def prepare(self, world: World) -> None:
        """It waits, and nothing of it is in the store."""
        body = {"schedule": {"runAt": world.text(self.due_in_ms)}, "target": TARGET, "name": "report"}
        self.submission = Submission(
            tenant_id=TENANT,
            job_id=JOB,
            key="POST /v1/jobs k",
            body_hash="a" * 64,
            asked_at=Instant(world.clock.now() - 30_000),
            body=json.dumps(body),
        )

    async def act(self, kit: Kit, world: World) -> object:
        """Land it."""
        refusal = await land(Api(kit=kit), self.submission)
        if refusal is not None:
            raise NotAcknowledged(refusal)
        return refusal

    async def again(self, kit: Kit, world: World) -> object:
        """The message comes again at once."""
        return await self.act(kit, world)

    async def others_finish(self, world: World) -> None:
        """And once more, whatever became of it; then everything is worked off."""
        await self.act(world.kit, world)
        await world.drain()

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """The job of that id, and no other; it counts from its acceptance and ran once."""
        await check_all(world)
        (head,) = await world.heads()
        assert (head.job_id, head.status) == (JOB, JobStatus.ENDED)
        assert head.created_at == self.submission.asked_at
        assert len(world.runner.starts) == 1
        await check_ledger(world, head)
