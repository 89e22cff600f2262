"""What a stage's templates make that is paid for by the month, whatever runs: counted, not remembered.

Must not know prices. It synthesises, which takes Node and some seconds; the counts are noted in measured.json.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infra.app import build_app
from infra.context import context_of_cdk_json
from infra.gate import read
from infra.policy.templates import Templates
from infra.settings import Settings

_ALARM = "AWS::CloudWatch::Alarm"
_SCALING = "AWS::ApplicationAutoScaling::ScalingPolicy"
# Application Auto Scaling makes them of each target that it tracks: to scale out by, and to scale in.
_ALARMS_OF_TARGET = 2


def count(settings: Settings) -> Mapping[str, int]:
    """By kind."""
    with tempfile.TemporaryDirectory() as place:
        build_app(settings, context=context_of_cdk_json(packaging=False), outdir=place).synth()
        templates = read(Path(place))
    return counts_of(templates)


def counts_of(templates: Templates) -> Mapping[str, int]:
    """Of templates that are there."""
    alarms = [resource["Properties"] for _, resource in templates.of_type(_ALARM)]
    tracked = [
        resource["Properties"]["TargetTrackingScalingPolicyConfiguration"]["CustomizedMetricSpecification"]
        for _, resource in templates.of_type(_SCALING)
    ]
    return {
        "alarms": len(alarms),
        "alarmMetrics": sum(_metrics(alarm) for alarm in alarms),
        "scalingMetrics": _ALARMS_OF_TARGET * sum(_metrics(each) for each in tracked),
        "dashboards": _number(templates, "AWS::CloudWatch::Dashboard"),
        "secrets": _number(templates, "AWS::SecretsManager::Secret"),
        "functions": _number(templates, "AWS::Lambda::Function"),
        "queues": _number(templates, "AWS::SQS::Queue"),
        "mappings": _number(templates, "AWS::Lambda::EventSourceMapping"),
    }


def _number(templates: Templates, kind: str) -> int:
    return len(list(templates.of_type(kind)))


def _metrics(alarm: Mapping[str, Any]) -> int:
    """How many an alarm, or a target, is paid for: its own, or all those that its arithmetic names."""
    return 1 if "MetricName" in alarm else sum("MetricStat" in query for query in alarm["Metrics"])
