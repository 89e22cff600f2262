"""How many machines a service of the fleet has: by the hints that wait for each, and by how full they are.

Must not know what the machines do. Two targets, of which the greater number wins: what waits (so a herd is met) and
the places taken (so there is headroom before anything waits; new machines take two to five minutes).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import aws_cdk as cdk
from aws_cdk import aws_applicationautoscaling as scaling
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.fleet_settings import PLACES_TAKEN_PERCENT, ServiceSettings

# Out soon, in slowly: a machine that is started twice costs more than one that idles for some minutes.
OUT_COOLDOWN_S, IN_COOLDOWN_S = 60, 600
# One sample a minute and machine (loops/census.py): their average is how full the machines are, their number how many
# there are. One that does not run, stands still or stops says nothing.
PLACES_NAMESPACE, PLACES_METRIC = "Tickwright", "PlacesTaken"
_RUNNING = "running"
_VISIBLE = "ApproximateNumberOfMessagesVisible"

_Query: TypeAlias = scaling.CfnScalingPolicy.TargetTrackingMetricDataQueryProperty
_Metric: TypeAlias = scaling.CfnScalingPolicy.TargetTrackingMetricProperty
_Specification: TypeAlias = scaling.CfnScalingPolicy.CustomizedMetricSpecificationProperty


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """A service, with what it is scaled by."""

    name: str
    stage: str
    service: ecs.FargateService
    queues: Sequence[sqs.IQueue]
    settings: ServiceSettings


def scale(scope: Construct, scaled: Scaled) -> None:
    """Let the number of machines follow the work."""
    scaled.service.auto_scale_task_count(
        min_capacity=scaled.settings.machines_min, max_capacity=scaled.settings.machines_max
    )
    _policy(scope, "PlacesScaling", scaled, target=PLACES_TAKEN_PERCENT, by=_places_taken(scaled))
    if scaled.queues and (most := scaled.settings.backlog_per_machine) is not None:
        _policy(scope, "BacklogScaling", scaled, target=most, by=_backlog(scaled))


def _policy(scope: Construct, construct_id: str, scaled: Scaled, *, target: float, by: _Specification) -> None:
    """By its resource: the construct for this takes no metric that is computed of others."""
    scalable = scaled.service.node.find_child("TaskCount").node.find_child("Target")
    assert isinstance(scalable, scaling.ScalableTarget)
    scaling.CfnScalingPolicy(
        scope,
        construct_id,
        policy_name=f"{cdk.Names.unique_id(scaled.service)}-{construct_id}",
        policy_type="TargetTrackingScaling",
        scaling_target_id=scalable.scalable_target_id,
        target_tracking_scaling_policy_configuration=(
            scaling.CfnScalingPolicy.TargetTrackingScalingPolicyConfigurationProperty(
                target_value=target,
                scale_out_cooldown=OUT_COOLDOWN_S,
                scale_in_cooldown=IN_COOLDOWN_S,
                customized_metric_specification=by,
            )
        ),
    )


def _places_taken(scaled: Scaled) -> _Specification:
    dimension = scaling.CfnScalingPolicy.MetricDimensionProperty
    return _Specification(
        namespace=PLACES_NAMESPACE,
        metric_name=PLACES_METRIC,
        dimensions=[dimension(name=name, value=value) for name, value in _of(scaled).items()],
        statistic="Average",
        unit="Percent",
    )


def _of(scaled: Scaled) -> dict[str, str]:
    return {"Stage": scaled.stage, "Fleet": scaled.name}


def _backlog(scaled: Scaled) -> _Specification:
    """Hints that wait, of all lanes, for each machine that takes them; where none has said so, as if there were one."""
    waiting = {f"waiting{number}": queue for number, queue in enumerate(scaled.queues)}
    # A queue that nobody has used for hours says nothing at all; the machines' own polls keep these talking.
    total = " + ".join(f"FILL({name}, 0)" for name in waiting)
    machines = f"IF(FILL({_RUNNING}, 0) < 1, 1, FILL({_RUNNING}, 0))"
    return _Specification(
        metrics=[
            *(
                _measured(name, _metric("AWS/SQS", _VISIBLE, {"QueueName": queue.queue_name}), "Average")
                for name, queue in waiting.items()
            ),
            _measured(_RUNNING, _metric(PLACES_NAMESPACE, PLACES_METRIC, _of(scaled)), "SampleCount"),
            _Query(id="backlog", expression=f"({total}) / {machines}", label="Hints per machine", return_data=True),
        ]
    )


def _metric(namespace: str, name: str, dimensions: Mapping[str, str]) -> _Metric:
    dimension = scaling.CfnScalingPolicy.TargetTrackingMetricDimensionProperty
    return _Metric(
        namespace=namespace,
        metric_name=name,
        dimensions=[dimension(name=each, value=value) for each, value in dimensions.items()],
    )


def _measured(metric_id: str, metric: _Metric, statistic: str) -> _Query:
    """Of a minute, as everything that a target is tracked by."""
    measured = scaling.CfnScalingPolicy.TargetTrackingMetricStatProperty(stat=statistic, metric=metric)
    return _Query(id=metric_id, metric_stat=measured, return_data=False)
