"""What `/metrics` tells of the webhooks of admission, under the names that dashboards know."""

from typing import Any

import pytest
from tests.server.outbound.peer import Answer as Behaviour
from tests.server.outbound.peer import Asked, response
from tests.server.webhooks.world import World, answering

from setpoint.objects.metrics import exposition

PREFIX = "apiserver_admission_webhook_"
NAME, VALIDATING = 'name="h.example.com"', 'type="validating"'
REFUSING = answering(allowed=False, status={"code": 403, "message": "no"})


async def _fail(asked: Asked, writer: Any) -> None:
    writer.write(response(b"", 503))


def told(world: World) -> dict[str, str]:
    """The lines of the page about webhooks, but for times."""
    lines = exposition(family for part in world.server.services.measured for family in part.families())
    found = (line.rpartition(" ") for line in lines if line.startswith(PREFIX))
    return {name.removeprefix(PREFIX): value for name, _, value in found if "_bucket{" not in name}


@pytest.mark.parametrize(
    ("behaviour", "mutates", "policy", "expected"),
    [
        (answering(), False, "Fail", {("request_total", 'code="200"', 'rejected="false"'): "1"}),
        (answering(), True, "Fail", {("request_total", 'type="admit"', 'code="200"', 'rejected="false"'): "1"}),
        (
            REFUSING,
            False,
            "Fail",
            {
                ("request_total", VALIDATING, 'code="403"', 'rejected="true"'): "1",
                ("rejection_count", 'error_type="no_error"', 'rejection_code="403"', 'operation="CREATE"'): "1",
            },
        ),
        (REFUSING, True, "Ignore", {("rejection_count", 'type="admit"', 'error_type="no_error"'): "1"}),
        (
            _fail,
            False,
            "Fail",
            {
                ("rejection_count", 'error_type="calling_webhook_error"', 'rejection_code="500"'): "1",
                ("request_total", 'code="500"', 'rejected="true"'): "1",
            },
        ),
        (
            _fail,
            True,
            "Ignore",
            {
                ("fail_open_count", 'type="admit"'): "1",
                ("request_total", 'code="500"', 'rejected="false"'): "1",
            },
        ),
        (
            answering(patch=[{"op": "remove", "path": "/nothing/there"}]),
            True,
            "Fail",
            {("rejection_count", 'error_type="apiserver_internal_error"', 'rejection_code="0"'): "1"},
        ),
    ],
    ids=["allows", "allows-mutating", "refuses", "refuses-mutating", "fails", "fails-open", "bad-patch"],
)
async def test_what_becomes_of_a_question_is_counted(
    world: World, behaviour: Behaviour, mutates: bool, policy: str, expected: dict[tuple[str, ...], str]
) -> None:
    await world.hook(behaviour, mutates=mutates, failurePolicy=policy)
    await world.create()
    found = told(world)
    for (family, *labels), value in expected.items():
        [line] = [line for line in found if line.startswith(family + "{")]
        assert NAME in line
        assert all(label in line for label in labels), line
        assert found[line] == value
    # And nothing else is said to have happened.
    families = {line.partition("{")[0] for line in found} - {"request_total"}
    durations = {"admission_duration_seconds_sum", "admission_duration_seconds_count"}
    assert families - durations == {family for family, *_ in expected} - {"request_total"}
    assert durations <= families


async def test_a_server_without_webhooks_tells_nothing_of_them(world: World) -> None:
    await world.create()
    assert told(world) == {}
