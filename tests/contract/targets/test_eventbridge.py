"""Does an `eventbridge` target put an event that rules can match?"""

import json

import pytest

from tests.contract.targets.conftest import ACCOUNT, Client, run
from tickwright.adapters.targets.eventbridge import EVENTBRIDGE
from tickwright.domain.attempts import Fatal, HandedOver, Success, UserResult

pytestmark = pytest.mark.emulator
BUS = "target-bus"


async def put(endpoint: str, **settings: object) -> UserResult:
    target = {"busArn": f"arn:aws:events:{ACCOUNT}:event-bus/{BUS}"} | settings
    return await run(EVENTBRIDGE, endpoint, target, kind="eventbridge", payload='{"n":7}')


@pytest.mark.sem("SEM-TARGET-9")
async def test_an_event_reaches_the_target_of_a_rule(endpoint: str, client: Client) -> None:
    """Its detail is the envelope; source and type are the job's, for rules to match."""
    queue, events = client("sqs"), client("events")
    url = queue.create_queue(QueueName="target-events")["QueueUrl"]
    events.create_event_bus(Name=BUS)
    events.put_rule(Name="ours", EventBusName=BUS, EventPattern=json.dumps({"source": ["billing"]}), State="ENABLED")
    arn = f"arn:aws:sqs:{ACCOUNT}:target-events"
    events.put_targets(Rule="ours", EventBusName=BUS, Targets=[{"Id": "1", "Arn": arn}])

    result = await put(endpoint, source="billing", detailType="Night Is Over")

    (message,) = queue.receive_message(QueueUrl=url, WaitTimeSeconds=5)["Messages"]
    event = json.loads(message["Body"])
    assert isinstance(result, Success)
    assert json.loads(result.result or "") == {"eventId": event["id"]}
    assert (event["source"], event["detail-type"], event["detail"]["payload"]) == ("billing", "Night Is Over", {"n": 7})


async def test_what_is_called_back_about_is_handed_over(endpoint: str) -> None:
    """Whoever gets the event completes the execution."""
    assert await put(endpoint, completion="callback") == HandedOver()


@pytest.mark.sem("SEM-TARGET-9")
async def test_an_entry_that_is_refused_is_no_success_though_the_call_is(endpoint: str) -> None:
    """The answer's status is 200 then."""
    result = await put(endpoint, source="aws.ec2")

    assert isinstance(result, Fatal)
    assert result.error.error_class == "NotAuthorizedForSourceException"
