"""That whatever can go wrong calls somebody, and that whoever is called finds what to do.

As in checks.py: one function a rule, judged by what is in the templates of a stage.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from infra.lane_settings import LANES
from infra.policy.checks import ANSWER_REQUESTS, FUNCTION, QUEUE, REFUSES_BY_FAILING, TABLE, Finding
from infra.policy.runbook import Runbook
from infra.policy.templates import Address, Templates

ALARM = "AWS::CloudWatch::Alarm"
# The queue of a lane of a pool of the platform's, and that of what nobody could take of it.
_OF_LANE = re.compile(rf"Queue(Fargate)?(?P<lane>{'|'.join(lane.capitalize() for lane in LANES)})(Undelivered)?")
_OF_ANSWERS = "5xxerror"
_ANCHORS = {entry.anchor for entry in Runbook}

Check = Callable[[Templates], Iterator[Finding]]


def alarms_are_documented(templates: Templates) -> Iterator[Finding]:
    """At four in the morning a name is not enough: each says where it is explained, and that place exists."""
    for address, alarm in templates.of_type(ALARM):
        page, _, anchor = alarm["Properties"].get("AlarmDescription", "").rpartition("#")
        if not page or anchor not in _ANCHORS:
            yield Finding("alarm-runbook", str(address), "has no section in docs/operations.md")


def queues_have_an_alarm(templates: Templates) -> Iterator[Finding]:
    """Whether something waits too long in it, is set aside in it, or nobody serves it.

    A lane's are spoken for by one on how long its runs wait: whatever becomes of hints, it is there that it shows.
    """
    metrics = list(_metrics(templates))
    watched = {queue for metric in metrics if (queue := metric.about("QueueName"))}
    waited_for = {metric.of("Lane") for metric in metrics if metric.name == "RunWait"}
    for address, _ in templates.of_type(QUEUE):
        of_lane = _OF_LANE.fullmatch(address.logical_id)
        if address not in watched and (of_lane is None or of_lane["lane"].lower() not in waited_for):
            yield Finding("alarm-queue", str(address), "has no alarm")


def functions_have_an_alarm(templates: Templates) -> Iterator[Finding]:
    """On its errors, and on what Lambda did not start; where errors are refusals, on what counts the failures.

    Where alarms are coarse, what Lambda did not start of all functions of the account is that of each, and how requests
    are answered says whether what answers them fails.
    """
    metrics = list(_metrics(templates))
    watched = {(metric.name, metric.about("FunctionName")) for metric in metrics}
    names = {metric.name.lower() for metric in metrics}
    are_all_watched = any(metric.name == "Throttles" and metric.of("FunctionName") is None for metric in metrics)
    for address, function in templates.of_type(FUNCTION):
        if not are_all_watched and ("Throttles", address) not in watched:
            yield Finding("alarm-function", str(address), "has no alarm on its throttles")
        name = function["Properties"]["Handler"].split(".")[1]
        counted = name in REFUSES_BY_FAILING and any(each.startswith(f"{name}failures") for each in names)
        answered = are_all_watched and name in ANSWER_REQUESTS and _OF_ANSWERS in names
        if ("Errors", address) not in watched and not counted and not answered:
            yield Finding("alarm-function", str(address), "has no alarm on its errors")


def tables_have_an_alarm(templates: Templates) -> Iterator[Finding]:
    """Each table, and each index: one that cannot keep up refuses the writes of its table."""
    watched = {(metric.about("TableName"), metric.of("GlobalSecondaryIndexName")) for metric in _metrics(templates)}
    for address, table in templates.of_type(TABLE):
        indexes = [index["IndexName"] for index in table["Properties"].get("GlobalSecondaryIndexes", [])]
        for index in (None, *indexes):
            if (address, index) not in watched:
                yield Finding("alarm-table", str(address), f"has no alarm on throttles of {index or 'itself'}")


ALARM_CHECKS: tuple[Check, ...] = (
    alarms_are_documented,
    queues_have_an_alarm,
    functions_have_an_alarm,
    tables_have_an_alarm,
)


def check_alarms(templates: Templates) -> list[Finding]:
    """Everything that breaks a rule of the house for alarms."""
    return [finding for rule in ALARM_CHECKS for finding in rule(templates)]


class _Watched:
    """A metric that an alarm watches."""

    def __init__(self, templates: Templates, stack: str, metric: Mapping[str, Any]) -> None:
        self._templates = templates
        self._stack = stack
        self.name: str = metric["MetricName"]
        self._dimensions = {each["Name"]: each["Value"] for each in metric.get("Dimensions", [])}

    def about(self, dimension: str) -> Address | None:
        """The resource that it is measured of."""
        return self._templates.target(self._stack, self._dimensions.get(dimension))

    def of(self, dimension: str) -> str | None:
        """A dimension that is a name."""
        value = self._dimensions.get(dimension)
        return None if value is None else str(value)


def _metrics(templates: Templates) -> Iterator[_Watched]:
    """Every metric of every alarm, those that it is computed of among them."""
    for address, alarm in templates.of_type(ALARM):
        properties = alarm["Properties"]
        if "MetricName" in properties:
            yield _Watched(templates, address.stack, properties)
        for query in properties.get("Metrics", []):
            if "MetricStat" in query:
                yield _Watched(templates, address.stack, query["MetricStat"]["Metric"])
