"""One page on which an installation can be watched: what it promises first, then what that rests on.

Must not know thresholds: those are drawn where an alarm has them. What each picture is good for: docs/operations.md.
"""

from collections.abc import Iterable, Mapping, Sequence

from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from infra.constructs import measures
from infra.constructs.alarm import FIVE_MINUTES
from infra.constructs.service_function import ServiceFunction
from infra.lane_settings import LANES
from infra.parts import Parts
from infra.stage_settings import Settings

_HALF, _THIRD, _QUARTER, _HEIGHT = 12, 8, 6, 6
_VISIBLE = "ApproximateNumberOfMessagesVisible"
_AGE = "ApproximateAgeOfOldestMessage"


class Dashboard(Construct):
    """The page of one stage."""

    def __init__(self, scope: Construct, construct_id: str, *, settings: Settings, parts: Parts) -> None:
        super().__init__(scope, construct_id)
        self._settings = settings
        self._parts = parts
        self._page = cloudwatch.Dashboard(self, "Page", dashboard_name=f"Tickwright-{settings.stage}")

    def show_promises(self, alarms: Sequence[cloudwatch.IAlarm]) -> None:
        """Which alarms ring, how late runs start, and how many do."""
        stage = self._settings.stage
        self._page.add_widgets(cloudwatch.AlarmStatusWidget(title="Alarms", alarms=list(alarms), width=2 * _HALF))
        self._page.add_widgets(
            _graph("How late runs start (p99, ms)", [measures.dispatch_lag(stage, lane) for lane in LANES], _THIRD),
            _graph(
                "... in the middle (p50, ms)", [measures.dispatch_lag(stage, lane, "p50") for lane in LANES], _THIRD
            ),
            _graph("Starts a minute", [measures.dispatch_lag(stage, lane, "SampleCount") for lane in LANES], _THIRD),
        )
        self._page.add_widgets(
            _graph("Buckets served a minute", [measures.own("BucketsServed", stage=stage, statistic="Sum")], _QUARTER),
            _graph(
                "How long a tick waits that nobody decides (ms)",
                [measures.own("TickWait", stage=stage, statistic="Maximum")],
                _QUARTER,
            ),
            _graph(
                "How long runs wait that nobody takes (ms)",
                [measures.own("RunWait", stage=stage, lane=lane, statistic="Maximum") for lane in LANES],
                _QUARTER,
            ),
            _graph(
                "Bugs and faults",
                [measures.own(name, stage=stage, statistic="Sum") for name in ("Bugs", "Faults")],
                _QUARTER,
            ),
        )

    def show_queues(self) -> None:
        """What waits, and since when."""
        queues = self._parts.queues
        of = {"": queues.lanes, "fleet ": queues.fargate_lanes}
        waiting = [
            measures.of_queue(queue, _VISIBLE, statistic="Maximum", label=f"{pool}{lane}")
            for pool, lanes in of.items()
            for lane, queue in lanes.items()
        ]
        ages = [measures.of_queue(queues.lanes[lane], _AGE, statistic="Maximum", label=lane) for lane in LANES]
        dead = measures.of_queue(queues.dead_executions, "NumberOfMessagesSent", statistic="Sum", label="died")
        self._page.add_widgets(
            _graph("Hints that wait", waiting, _THIRD),
            _graph("The oldest hint of a lane (s)", ages, _THIRD),
            _graph("Runs that died", [dead], _THIRD),
        )
        places = [
            cloudwatch.Metric(
                namespace=measures.NAMESPACE,
                metric_name="PlacesTaken",
                dimensions_map={"Stage": self._settings.stage, "Fleet": fleet},
                statistic="Average",
                label=fleet,
            )
            for fleet in self._settings.fleet.services
        ]
        self._page.add_widgets(_graph("Places taken on the machines of the fleet (%)", places, 2 * _HALF))

    def show_door(self, gateway: apigateway.RestApi) -> None:
        """What callers meet."""
        of = {
            "Requests": [("Count", "Sum")],
            "Refused and failed": [("4XXError", "Sum"), ("5XXError", "Sum")],
            "How long an answer takes (ms)": [("Latency", "p50"), ("Latency", "p99")],
        }
        self._page.add_widgets(
            *(
                _graph(
                    title,
                    [measures.of_api(name, gateway.rest_api_name, statistic=statistic) for name, statistic in shown],
                    _THIRD,
                )
                for title, shown in of.items()
            )
        )

    def show_functions(self, functions: Iterable[ServiceFunction]) -> None:
        """What runs, fails and is throttled."""
        each = [one.function for one in functions]
        names = [one.name for one in functions]
        pairs = list(zip(each, names, strict=True))
        self._page.add_widgets(
            _graph("Errors", [one.metric_errors(label=name) for one, name in pairs], _THIRD),
            _graph("Throttles", [one.metric_throttles(label=name) for one, name in pairs], _THIRD),
            _graph(
                "How long an invocation takes (ms)", [one.metric_duration(label=name) for one, name in pairs], _THIRD
            ),
        )

    def show_tables(self, tables: Mapping[str, dynamodb.TableV2], indexes: Mapping[str, tuple[str, ...]]) -> None:
        """What the store takes, and what it refuses."""
        used = {
            title: [
                cloudwatch.Metric(
                    namespace="AWS/DynamoDB",
                    metric_name=metric,
                    dimensions_map={"TableName": table.table_name},
                    statistic="Sum",
                    period=FIVE_MINUTES,
                    label=name,
                )
                for name, table in tables.items()
            ]
            for title, metric in (
                ("Write units", "ConsumedWriteCapacityUnits"),
                ("Read units", "ConsumedReadCapacityUnits"),
            )
        }
        refused = [
            measures.throttles(name, table.table_name, index)
            for name, table in tables.items()
            for index in (None, *indexes[name])
        ]
        self._page.add_widgets(
            *(_graph(title, shown, _THIRD) for title, shown in used.items()), _graph("Throttles", refused, _THIRD)
        )


def _graph(title: str, shown: Sequence[cloudwatch.IMetric], width: int) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, left=list(shown), width=width, height=_HEIGHT)
