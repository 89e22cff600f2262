"""The alarms of what waits: ticks that nobody decides, late runs, old hints, unserved lanes, what was given up.

Must not know who sends or receives.
"""

from collections.abc import Mapping

from aws_cdk import aws_sqs as sqs

from infra.alarm_settings import AlarmSettings
from infra.constructs import measures
from infra.constructs.alarm import FIVE_MINUTES, Alarms, Condition
from infra.parts import Queues
from infra.policy.runbook import Runbook

_AGE, _VISIBLE, _SENT = (
    "ApproximateAgeOfOldestMessage",
    "ApproximateNumberOfMessagesVisible",
    "NumberOfMessagesSent",
)
_UNSERVED_MINUTES = 10
# Five minutes each: an hour and a quarter.
_LOOK_PERIODS = 15


def ring_for_late_starts(alarms: Alarms, settings: AlarmSettings, *, stage: str) -> None:
    """Of each lane: how late its runs start."""
    for lane, lag_ms in settings.dispatch_lag_ms.items():
        # Three bad minutes of five: one cold start in a quiet hour is no news.
        alarms.ring(
            f"DispatchLag{lane.capitalize()}",
            Condition(metric=measures.dispatch_lag(stage, lane), threshold=lag_ms, of=3, periods=5),
            runbook=Runbook.RUNS_START_LATE,
            says=f"One start in a hundred of the lane {lane} is {lag_ms} ms late, or later.",
        )


def ring_for_ticks_that_wait(alarms: Alarms, settings: AlarmSettings, *, stage: str) -> None:
    """Whether anybody decides what is due, in each bucket: by what the watch finds, once a minute."""
    waited = measures.own("TickWait", stage=stage, statistic="Maximum")
    # Three bad minutes of five: where nobody stands by, a scheduler that dies is followed by the next minute's.
    alarms.ring(
        "TicksWait",
        Condition(metric=waited, threshold=settings.tick_wait_s * 1_000, of=3, periods=5),
        runbook=Runbook.TICKS_WAIT,
        says=f"A tick might have been decided {settings.tick_wait_s} s ago, or before, and nobody decides it.",
    )


def ring_for_runs_that_wait(alarms: Alarms, settings: AlarmSettings, *, stage: str) -> None:
    """Of each lane: whether anybody takes what waits in it, in any pool of the platform's, by what the journal finds.

    It looks at a run that waits at least once an hour: an alarm that lasts for longer than that does not end between.
    """
    for lane, wait_s in settings.run_waits_s.items():
        waited = measures.own("RunWait", stage=stage, lane=lane, statistic="Maximum", period=FIVE_MINUTES)
        alarms.ring(
            f"RunsWait{lane.capitalize()}",
            Condition(metric=waited, threshold=wait_s * 1_000, of=1, periods=_LOOK_PERIODS),
            runbook=Runbook.NOBODY_SERVES_A_LANE,
            says=f"A run of the lane {lane} might have been taken {wait_s} s ago, or before, and nobody takes it.",
        )


def ring_for_lanes(alarms: Alarms, settings: AlarmSettings, *, queues: Queues) -> None:
    """Of each lane of each pool: whether anybody takes what waits in it."""
    for lane, age_s in settings.oldest_hint_s.items():
        age = measures.of_queue(queues.lanes[lane], _AGE, statistic="Maximum")
        alarms.ring(
            f"OldestHint{lane.capitalize()}",
            Condition(metric=age, threshold=age_s, of=3, periods=3),
            runbook=Runbook.HINTS_GROW_OLD,
            says=f"A hint of the lane {lane} is {age_s} s old, or older.",
        )
    # Late starts say nothing where nothing starts; and hints of the fleet are as old as its longest run, twelve hours.
    for lane, queue in queues.lanes.items():
        _ring_for_nobody(alarms, f"LaneUnserved{lane.capitalize()}", queue, whose=f"the lane {lane}")
    for lane, queue in queues.fargate_lanes.items():
        _ring_for_nobody(alarms, f"FleetUnserved{lane.capitalize()}", queue, whose=f"the fleet's lane {lane}")


def _ring_for_nobody(alarms: Alarms, construct_id: str, queue: sqs.IQueue, *, whose: str) -> None:
    alarms.ring(
        construct_id,
        Condition(metric=measures.unserved(queue), threshold=1, of=_UNSERVED_MINUTES, periods=_UNSERVED_MINUTES),
        runbook=Runbook.NOBODY_SERVES_A_LANE,
        says=f"Hints of {whose} wait, and none was taken for {_UNSERVED_MINUTES} minutes.",
    )


def ring_for_the_intake(alarms: Alarms, settings: AlarmSettings, *, intake: sqs.IQueue, stage: str) -> None:
    """What was accepted while the store did not answer, and does not land: nobody takes it, or it comes back."""
    age = measures.of_queue(intake, _AGE, statistic="Maximum")
    alarms.ring(
        "OldestSubmission",
        Condition(metric=age, threshold=settings.oldest_submission_s, of=3, periods=3),
        runbook=Runbook.SUBMISSIONS_WAIT,
        says=f"A submission was accepted {settings.oldest_submission_s} s ago, or before, and nobody takes it.",
    )
    # The age above is of what was not taken yet: SQS leaves out what came three times and was not deleted.
    waited = measures.own("SubmissionWait", stage=stage, statistic="Maximum", period=FIVE_MINUTES)
    alarms.ring(
        "SubmissionComesBack",
        Condition(metric=waited, threshold=settings.oldest_submission_s * 1_000),
        runbook=Runbook.SUBMISSIONS_WAIT,
        says=f"A submission that was accepted {settings.oldest_submission_s} s ago, or before, did not land once more.",
    )


def ring_for_the_dead(alarms: Alarms, settings: AlarmSettings, *, dead: sqs.IQueue) -> None:
    """Runs that died."""
    letters = measures.of_queue(dead, _SENT, statistic="Sum", period=FIVE_MINUTES)
    # Sent rather than there: letters stay for fourteen days, and the alarm is to end when no more come.
    alarms.ring(
        "DeadLetters",
        Condition(metric=letters, threshold=settings.dead_letters),
        runbook=Runbook.RUNS_DIE,
        says=f"{settings.dead_letters} runs or more died within five minutes.",
    )


def ring_for_what_was_given_up(alarms: Alarms, undelivered: Mapping[str, sqs.Queue]) -> None:
    """What was received so often without an end that it was set aside."""
    for name, queue in undelivered.items():
        there = measures.of_queue(queue, _VISIBLE, statistic="Maximum", period=FIVE_MINUTES)
        alarms.ring(
            name,
            Condition(metric=there, threshold=1),
            runbook=Runbook.HINTS_WERE_GIVEN_UP,
            says=f"The queue {name} is not empty.",
        )
