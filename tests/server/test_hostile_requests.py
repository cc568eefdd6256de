"""Recorded requests, damaged at random: the server answers every one in the API's shape, and never fails itself.

The scenarios are played in their order, so that what later requests need is there; most requests are damaged first.
"""

from random import Random

import msgspec
import pytest
from tests.server import chance
from tests.server.damage import damaged
from tests.server.hostile import Hurried, answered
from tests.server.recorded_requests import recorded

from setpoint.objects.ids import SeededIds
from setpoint.plane import ControlPlane
from setpoint.server.message import Request, Response
from setpoint.server.registry import builtin_resources

# Sends thousands of random requests.
pytestmark = pytest.mark.slow

REQUESTS = 1200
SOUND = 0.3


def complaints(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Returns what was logged. Requests delete roles as well, after which system controllers are rightly refused."""
    said = [record.getMessage() for record in caplog.records]
    return [text for text in said if "is forbidden: User " not in text]


@pytest.mark.parametrize("seed", range(5))
async def test_a_damaged_request_is_answered_and_never_breaks_the_server(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    random = Random(seed)
    async with ControlPlane(clock=Hurried(), ids=SeededIds(seed)) as plane:
        asked = 0
        while asked < REQUESTS:
            for sound in random.choice(recorded()):
                made = sound if random.random() < SOUND else damaged(sound, random)
                await answered(plane, made.request)
                assert not complaints(caplog), made
                asked += 1


@pytest.mark.parametrize("seed", range(4))
async def test_an_object_made_by_chance_is_answered_for_and_never_breaks_the_server(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    random = Random(seed)
    resources = [resource for resource in builtin_resources.resources() if "create" in resource.verbs]
    async with ControlPlane(clock=Hurried(), ids=SeededIds(seed)) as plane:
        for _ in range(REQUESTS):
            made = chance.request(random.choice(resources), random)
            await answered(plane, made.request)
            assert not complaints(caplog), made


async def test_an_applied_event_that_cannot_be_converted_is_refused() -> None:
    event = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}, "eventTime": "soon"}

    async def main() -> Response:
        async with ControlPlane() as plane:
            path = "/apis/events.k8s.io/v1/namespaces/default/events/e"
            headers = {"content-type": "application/apply-patch+yaml"}
            return await plane.handler(Request("PATCH", path, "fieldManager=a", headers, msgspec.json.encode(event)))

    response = await main()
    assert response.status == 400
    assert isinstance(response.body, bytes)
    assert b"cannot be handled as a Event: parsing time" in response.body
