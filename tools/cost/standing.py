"""What a stage's templates make that is paid for by the month, whatever runs: counted, not remembered.

Must not know prices. It synthesises, which takes Node and some seconds; the counts are noted in measured.json.
"""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from infra.app import build_app
from infra.context import context_of_cdk_json
from infra.gate import read
from infra.policy.templates import Templates
from infra.settings import Settings

_ALARM = "AWS::CloudWatch::Alarm"
_OURS = "Tickwright"


def count(settings: Settings) -> Mapping[str, int]:
    """By kind."""
    with tempfile.TemporaryDirectory() as place:
        build_app(settings, context=context_of_cdk_json(packaging=False), outdir=place).synth()
        templates = read(Path(place))
    return counts_of(templates)


def counts_of(templates: Templates) -> Mapping[str, int]:
    """Of templates that are there."""
    alarms = [resource["Properties"] for _, resource in templates.of_type(_ALARM)]
    metrics = [list(_metrics(alarm)) for alarm in alarms]
    return {
        "alarms": len(alarms),
        "alarmMetrics": sum(len(each) for each in metrics),
        "customMetrics": len({key for each in metrics for key in each if key.startswith(_OURS)}),
        "dashboards": _number(templates, "AWS::CloudWatch::Dashboard"),
        "secrets": _number(templates, "AWS::SecretsManager::Secret"),
        "functions": _number(templates, "AWS::Lambda::Function"),
        "queues": _number(templates, "AWS::SQS::Queue"),
        "mappings": _number(templates, "AWS::Lambda::EventSourceMapping"),
    }


def _number(templates: Templates, kind: str) -> int:
    return len(list(templates.of_type(kind)))


def _metrics(alarm: Mapping[str, Any]) -> Iterator[str]:
    """Each metric that an alarm is paid for: its own, or all those that its arithmetic names."""
    if "MetricName" in alarm:
        yield _key(alarm, alarm)
    for query in alarm.get("Metrics", ()):
        if "MetricStat" in query:
            yield _key(query["MetricStat"]["Metric"], query["MetricStat"]["Metric"])


def _key(named: Mapping[str, Any], place: Mapping[str, Any]) -> str:
    dimensions = sorted(str(dimension) for dimension in place.get("Dimensions", ()))
    return f"{place.get('Namespace', '')} {named['MetricName']} {dimensions}"
