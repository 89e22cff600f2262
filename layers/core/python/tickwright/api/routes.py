"""Which paths there are: the one table that requests are matched with and openapi.json is made from.

Must not know how an endpoint does its work. A literal table, and no framework: it is read by two programs and by
people, costs no import, and every refusal is ours (SEM-API-1).
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from tickwright.api import (
    answers,
    bodies,
    calendar_answers,
    calendars,
    dead_letter_answers,
    dead_letter_bodies,
    dead_letters,
    executions,
    installation,
    jobs,
    pool_answers,
    pool_bodies,
    pools,
    schedules,
    webhooks,
)
from tickwright.api.call import Call
from tickwright.api.exchange import Response
from tickwright.domain.tenants import Scope

Endpoint = Callable[[Call], Awaitable[Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One method of one path. `scope`: what the key must allow. `body` None: none is read; `patch`: any object is."""

    method: str
    path: str
    endpoint: Endpoint
    says: str
    answer: Any
    status: int = 200
    may_create: bool = False  # 201 in place of 200 where there was none
    validated: Any = None  # the answer, with 200, to a write with validateOnly
    accepted: Any = None  # the answer, with 202, where the store does not answer and there is an intake
    scope: Scope | None = None
    is_open: bool = False
    body: type[BaseModel] | None = None
    body_is_patch: bool = False
    query: type[BaseModel] = bodies.NoQuery
    headers: tuple[str, ...] = ()  # request headers; required where they end in `!`
    refusals: tuple[int, ...] = ()  # statuses beside those that every route may answer
    pattern: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        """Compile the path: a parameter is one step of it."""
        template = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]{1,200})", self.path.replace(".", r"\."))
        object.__setattr__(self, "pattern", re.compile(template))


_READ, _WRITE, _WORK = Scope.JOBS_READ, Scope.JOBS_WRITE, Scope.EXECUTIONS_RUN
_DEAD = Scope.DEAD_LETTERS
_JOBS, _JOB, _EXECUTION = "/v1/jobs", "/v1/jobs/{jobId}", "/v1/executions/{executionId}"
_CALENDAR, _LETTERS = "/v1/calendars/{name}", "/v1/dead-letters"
_POOL = "/v1/pools/{name}"

# fmt: off
ROUTES: tuple[Route, ...] = (
    Route(method="POST", path=_JOBS, endpoint=jobs.create, scope=_WRITE, body=bodies.JobBody, status=201,
          query=bodies.WriteQuery, validated=answers.ValidatedJson, answer=answers.JobJson,
          accepted=answers.AcceptedJson, headers=("Idempotency-Key!",), refusals=(409,), says="Submit a job"),
    Route(method="GET", path=_JOBS, endpoint=jobs.list_all, scope=_READ, query=bodies.JobsQuery,
          answer=answers.JobsJson, says="List jobs by name"),
    Route(method="POST", path=f"{_JOBS}/batch", endpoint=jobs.create_batch, scope=_WRITE, body=bodies.BatchBody,
          answer=answers.BatchJson, headers=("Idempotency-Key!",), says="Submit up to 100 jobs, an outcome each"),
    Route(method="GET", path=_JOB, endpoint=jobs.get, scope=_READ, answer=answers.JobShownJson,
          headers=("If-None-Match",), says="Get a job"),
    Route(method="PUT", path=_JOB, endpoint=jobs.replace, scope=_WRITE, body=bodies.JobBody, answer=answers.JobJson,
          query=bodies.EditQuery, validated=answers.ValidatedJson, headers=("If-Match!",),
          refusals=(409, 412, 428), says="Replace a job"),
    Route(method="PATCH", path=_JOB, endpoint=jobs.patch, scope=_WRITE, body=bodies.JobBody, body_is_patch=True,
          query=bodies.EditQuery, validated=answers.ValidatedJson, answer=answers.JobJson,
          headers=("If-Match!",), refusals=(409, 412, 428),
          says="Change members of a job (RFC 7396 merge patch)"),
    Route(method="DELETE", path=_JOB, endpoint=jobs.end, scope=_WRITE, answer=answers.JobJson,
          headers=("If-Match",), refusals=(412,), says="Cancel a job and end it"),
    Route(method="POST", path=f"{_JOB}/pause", endpoint=jobs.pause, scope=_WRITE, body=bodies.Empty,
          answer=answers.JobJson, headers=("If-Match",), refusals=(409, 412), says="Pause a job"),
    Route(method="POST", path=f"{_JOB}/resume", endpoint=jobs.resume, scope=_WRITE, body=bodies.Empty,
          answer=answers.JobJson, headers=("If-Match",), refusals=(409, 412), says="Resume a paused job"),
    Route(method="POST", path=f"{_JOB}/run", endpoint=jobs.run, scope=_WRITE, body=bodies.Empty, status=201,
          answer=answers.ExecutionJson, headers=("Idempotency-Key",), refusals=(409, 412),
          says="Run a job now, outside its schedule"),
    Route(method="GET", path=f"{_JOB}/versions", endpoint=jobs.list_of_versions, scope=_READ, query=bodies.Query,
          answer=answers.VersionsJson, says="List a job's versions, newest first; an edit that waits is one"),
    Route(method="GET", path=f"{_JOB}/versions/{{version}}", endpoint=jobs.get_one_version, scope=_READ,
          answer=answers.VersionJson, headers=("If-None-Match",), says="Get one version of a job"),
    Route(method="GET", path=f"{_JOB}/executions", endpoint=executions.list_of_job, scope=_READ, query=bodies.Query,
          answer=answers.ExecutionsJson, says="List a job's executions, newest first"),
    Route(method="GET", path="/v1/executions", endpoint=executions.list_those_that_need_attention, scope=_READ,
          query=bodies.AttentionQuery, answer=answers.ExecutionsJson, says="List executions that need attention"),
    Route(method="GET", path=_EXECUTION, endpoint=executions.get, scope=_READ, answer=answers.ExecutionShownJson,
          headers=("If-None-Match",), says="Get an execution"),
    Route(method="GET", path=f"{_EXECUTION}/explanation", endpoint=executions.explain, scope=_READ,
          answer=answers.ExplanationJson, says="Say what an execution waits for"),
    Route(method="GET", path=f"{_EXECUTION}/logs", endpoint=executions.logs, scope=_READ, query=bodies.Query,
          answer=answers.LogsJson, says="Read what an execution's attempts have said, newest first"),
    Route(method="POST", path=f"{_EXECUTION}/cancel", endpoint=executions.cancel, scope=_WRITE, body=bodies.Empty,
          answer=answers.ExecutionJson, refusals=(409,), says="Cancel an execution"),
    Route(method="POST", path=f"{_EXECUTION}/redrive", endpoint=executions.redrive, scope=_DEAD, body=bodies.Empty,
          answer=answers.ExecutionJson, headers=("Idempotency-Key",), refusals=(409, 412),
          says="Give a dead execution its attempts anew"),
    Route(method="POST", path=f"{_EXECUTION}/rerun", endpoint=dead_letters.run_again, scope=_DEAD, status=201,
          body=dead_letter_bodies.RerunBody, answer=answers.ExecutionJson, headers=("Idempotency-Key",),
          refusals=(409, 412), says="Run a dead execution again with another payload, as a new one that names it"),
    Route(method="POST", path=f"{_EXECUTION}/heartbeat", endpoint=executions.heartbeat, scope=_WORK,
          body=bodies.HeartbeatBody, answer=answers.ExtendedJson, refusals=(409,),
          says="Keep the lease of an attempt; on 409 stop at once"),
    Route(method="POST", path=f"{_EXECUTION}/complete", endpoint=executions.complete, scope=_WORK,
          body=bodies.CompleteBody, answer=answers.ExecutionJson, refusals=(409,), says="End an attempt: it succeeded"),
    Route(method="POST", path=f"{_EXECUTION}/fail", endpoint=executions.fail, scope=_WORK, body=bodies.FailBody,
          answer=answers.ExecutionJson, refusals=(409,), says="End an attempt: it failed"),
    Route(method="GET", path=_LETTERS, endpoint=dead_letters.list_all, scope=_DEAD,
          query=dead_letter_bodies.DeadLettersQuery, answer=dead_letter_answers.DeadLettersJson,
          says="List dead executions, newest death first"),
    Route(method="GET", path=f"{_LETTERS}/groups", endpoint=dead_letters.list_groups, scope=_DEAD,
          query=dead_letter_bodies.GroupsQuery, answer=dead_letter_answers.DeadGroupsJson,
          says="Group dead executions by what they died of"),
    Route(method="GET", path=f"{_LETTERS}/redrives", endpoint=dead_letters.list_all_orders, scope=_DEAD,
          answer=dead_letter_answers.RedriveOrdersJson, says="List orders to redrive, newest first"),
    Route(method="POST", path=f"{_LETTERS}/redrives", endpoint=dead_letters.order, scope=_DEAD, status=202,
          body=dead_letter_bodies.RedriveOrderBody, answer=dead_letter_answers.RedriveOrderJson,
          validated=dead_letter_answers.DryRunJson, headers=("Idempotency-Key",), refusals=(409,),
          says="Order that many be redriven, or say what that would be"),
    Route(method="GET", path=f"{_LETTERS}/redrives/{{orderId}}", endpoint=dead_letters.get_one_order, scope=_DEAD,
          answer=dead_letter_answers.RedriveOrderJson, headers=("If-None-Match",), says="Get an order to redrive"),
    Route(method="POST", path=f"{_LETTERS}/redrives/{{orderId}}/cancel", endpoint=dead_letters.cancel_one_order,
          scope=_DEAD, body=bodies.Empty, answer=dead_letter_answers.RedriveOrderJson, refusals=(409,),
          says="Cancel an order to redrive"),
    Route(method="POST", path=f"{_LETTERS}/discard", endpoint=dead_letters.discard, scope=_DEAD,
          body=dead_letter_bodies.DiscardBody, answer=dead_letter_answers.DiscardedJson,
          validated=dead_letter_answers.DryRunJson,
          says="Take dead executions off the list, with a reason, or say what that would be"),
    Route(method="GET", path=f"{_LETTERS}/{{executionId}}", endpoint=dead_letters.get, scope=_DEAD,
          answer=dead_letter_answers.DeadLetterJson, headers=("If-None-Match",),
          says="Get a dead execution with what it was given"),
    Route(method="POST", path="/v1/schedules/preview", endpoint=schedules.preview, scope=_READ,
          body=bodies.PreviewBody, answer=answers.PreviewJson, says="Say what a schedule will do"),
    Route(method="GET", path="/v1/calendars", endpoint=calendars.list_all, scope=_READ, query=bodies.Query,
          answer=calendar_answers.CalendarsJson, says="List calendars by name"),
    Route(method="PUT", path=_CALENDAR, endpoint=calendars.put, scope=_WRITE, body=bodies.CalendarBody,
          answer=calendar_answers.CalendarJson, may_create=True, headers=("If-Match",), refusals=(412,),
          says="Create a calendar, or make a new version of it"),
    Route(method="GET", path=_CALENDAR, endpoint=calendars.get, scope=_READ, answer=calendar_answers.CalendarJson,
          headers=("If-None-Match",), says="Get a calendar"),
    Route(method="DELETE", path=_CALENDAR, endpoint=calendars.retire, scope=_WRITE,
          answer=calendar_answers.CalendarJson, headers=("If-Match",), refusals=(412,),
          says="Retire a calendar; jobs that name it still go by it"),
    Route(method="GET", path=f"{_CALENDAR}/versions", endpoint=calendars.list_all_versions, scope=_READ,
          query=bodies.Query, answer=calendar_answers.CalendarVersionsJson,
          says="List a calendar's versions, newest first"),
    Route(method="GET", path=f"{_CALENDAR}/versions/{{version}}", endpoint=calendars.get_one_version, scope=_READ,
          answer=calendar_answers.CalendarJson, headers=("If-None-Match",), says="Get a version of a calendar"),
    Route(method="GET", path="/v1/pools", endpoint=pools.list_all, scope=_READ, query=bodies.Query,
          answer=pool_answers.PoolsJson, says="List pools by name"),
    Route(method="PUT", path=_POOL, endpoint=pools.put, scope=_WRITE, body=pool_bodies.PoolBody,
          answer=pool_answers.PoolJson, may_create=True, headers=("If-Match",), refusals=(409, 412),
          says="Create a pool, or describe it anew"),
    Route(method="GET", path=_POOL, endpoint=pools.get, scope=_READ, answer=pool_answers.PoolJson,
          headers=("If-None-Match",), says="Get a pool"),
    Route(method="DELETE", path=_POOL, endpoint=pools.delete, scope=_WRITE, query=pool_bodies.DeleteQuery,
          answer=pool_answers.DeletedPoolJson, headers=("If-Match",), refusals=(409, 412),
          says="Delete a pool that no job names and in which no run waits"),
    Route(method="POST", path=f"{_POOL}/claim", endpoint=pools.claim, scope=_WORK, body=pool_bodies.ClaimBody,
          answer=pool_answers.ClaimsJson, refusals=(429,), says="Claim executions for a machine of the tenant's own"),
    Route(method="GET", path="/v1/herd", endpoint=schedules.herd, scope=_READ, query=bodies.HerdQuery,
          answer=answers.HerdJson, says="Count the ticks of the coming day by minute"),
    Route(method="GET", path="/v1/zone-changes", endpoint=schedules.zones, scope=_READ, query=bodies.Query,
          answer=answers.ZoneChangesJson, says="List the jobs whose next tick new zone rules have moved"),
    Route(method="GET", path="/v1/webhook-secret", endpoint=webhooks.get_secret, scope=_WRITE,
          answer=webhooks.WebhookSecretJson, refusals=(404,), says="Get the secret that requests are signed with"),
    Route(method="POST", path="/v1/webhook-secret/rotate", endpoint=webhooks.rotate_secret, scope=_WRITE,
          body=webhooks.RotationBody, answer=webhooks.WebhookSecretJson, refusals=(404, 412),
          says="Sign with a new secret, and for a day with the old one as well"),
    Route(method="GET", path="/v1/me", endpoint=installation.me, answer=answers.MeJson, says="Whose key this is"),
    Route(method="GET", path="/v1/health", endpoint=installation.health, is_open=True, answer=answers.HealthJson,
          says="Whether the installation answers"),
    Route(method="GET", path="/v1/openapi.json", endpoint=installation.openapi, is_open=True, answer=dict[str, Any],
          headers=("If-None-Match",), says="This document"),
)
# fmt: on

# Those that wait: on AWS a function of their own serves them, so that they take no other request's place.
CLAIMS = tuple(route for route in ROUTES if route.endpoint is pools.claim)


def routes_at(path: str, routes: Sequence[Route] = ROUTES) -> Iterable[tuple[Route, dict[str, str]]]:
    """Every method of the path, with what stands for its parameters; a path without any goes before one with."""
    literal: list[tuple[Route, dict[str, str]]] = [
        (route, {}) for route in routes if route.path == path and "{" not in path
    ]
    if literal:
        return literal
    return [(route, match.groupdict()) for route in routes if (match := route.pattern.fullmatch(path)) is not None]
