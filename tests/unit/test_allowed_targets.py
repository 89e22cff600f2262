"""May a target name only what the installation allows its tenant?"""

import pytest

from tickwright.domain.allowed_targets import AllowedTargets, allowed_from_json, resources_of
from tickwright.domain.ids import TenantId
from tickwright.domain.jobs import Target

ACME, OTHER = TenantId("acme"), TenantId("other")
QUEUE = "arn:aws:sqs:eu-west-1:123456789012:acme-orders"
ALLOWED = AllowedTargets(patterns={"acme": ("arn:aws:sqs:eu-west-1:123456789012:acme-*",), "*": (f"{QUEUE}-of-all",)})


@pytest.mark.sem("SEM-TARGET-5")
@pytest.mark.parametrize(
    ("tenant_id", "arn", "allowed"),
    [
        (ACME, QUEUE, True),
        (OTHER, QUEUE, False),
        (OTHER, f"{QUEUE}-of-all", True),
        (ACME, "arn:aws:sqs:eu-west-1:123456789012:other", False),
        (ACME, f"x{QUEUE}", False),
        (ACME, "arn:aws:sqs:eu-west-1:999999999999:acme-orders", False),
    ],
)
def test_a_pattern_stands_for_its_own_tenant(tenant_id: TenantId, arn: str, *, allowed: bool) -> None:
    """A star is any characters, everything else is itself, and the whole ARN must match."""
    assert ALLOWED.allows(tenant_id, arn) is allowed


def test_without_a_setting_nothing_is_allowed() -> None:
    """An installation that says nothing runs http and python targets alone."""
    assert not allowed_from_json("").allows(ACME, QUEUE)


@pytest.mark.parametrize("arn", [f"{QUEUE}\n", f"{QUEUE}\nx"])
def test_a_line_break_slips_through_no_pattern(arn: str) -> None:
    """A star does not reach over the end of a line."""
    assert not ALLOWED.allows(ACME, arn)


@pytest.mark.parametrize("text", ["[]", '{"acme":"arn"}', '{"acme":[1]}', "nope"])
def test_a_setting_that_cannot_be_read_ends_the_start(text: str) -> None:
    """Found when a function starts and not by the first job."""
    with pytest.raises(ValueError, match=r".+"):
        allowed_from_json(text)


@pytest.mark.sem("SEM-TARGET-5")
def test_every_resource_of_a_target_is_asked_about() -> None:
    """Each with its member: what runs, and where."""
    settings = {"clusterArn": "arn:c", "taskDefinitionArn": "arn:t", "containerName": "c"}
    target = Target(kind="ecsTask", settings=settings)

    assert resources_of(target) == {"clusterArn": "arn:c", "taskDefinitionArn": "arn:t"}
    assert [(p.pointer, p.code) for p in ALLOWED.problems(ACME, target)] == [
        ("/target/clusterArn", "target_not_allowed"),
        ("/target/taskDefinitionArn", "target_not_allowed"),
    ]


def test_a_target_without_a_resource_is_asked_about_nothing() -> None:
    """An address is looked at when it is resolved, a handler belongs to the worker."""
    assert ALLOWED.problems(ACME, Target(kind="http", settings={"url": "https://example.com"})) == []


HANDLERS = AllowedTargets(patterns={"acme": ("python:billing.*", "python:hello"), "*": (f"{QUEUE}-of-all",)})


@pytest.mark.sem("SEM-TARGET-5")
@pytest.mark.parametrize(
    ("tenant_id", "handler", "allowed"),
    [
        (ACME, "billing.nightly", True),
        (ACME, "hello", True),
        (ACME, "billing", False),
        (ACME, "hello.world", False),
        (OTHER, "billing.nightly", False),
    ],
)
def test_where_handlers_are_listed_a_tenant_calls_its_own(tenant_id: TenantId, handler: str, *, allowed: bool) -> None:
    """Everybody's handlers are in one image: a name is no secret."""
    told = HANDLERS.problems(tenant_id, Target(kind="python", settings={"handler": handler}))

    assert [(p.pointer, p.code) for p in told] == ([] if allowed else [("/target/handler", "target_not_allowed")])


def test_where_no_handler_is_listed_everybody_calls_each() -> None:
    """Patterns of resources say nothing of handlers."""
    assert ALLOWED.problems(OTHER, Target(kind="python", settings={"handler": "billing.nightly"})) == []


def test_a_tenants_own_pool_runs_whatever_it_has() -> None:
    """Its machines are its own."""
    target = Target(kind="pool", settings={"pool": "gpu", "handler": "billing.nightly"})

    assert HANDLERS.problems(OTHER, target) == []
