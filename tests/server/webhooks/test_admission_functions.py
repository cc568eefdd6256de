"""Functions that decide in the server's process: the same decisions as behind a URL, and the same words."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest
from tests.server.outbound.peer import Answer as Behaviour
from tests.server.outbound.peer import Asked, response
from tests.server.webhooks.world import CONFIG_MAPS, World, adding, new_world, requests
from tests.server.write.api import Answer

from setpoint.objects.errors import TooManyRequests
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.server.admission.functions import Decide, MutatingFunction, ValidatingFunction, rule
from setpoint.server.admission.request import AdmissionRequest, AdmissionResponse, allow, change, deny
from setpoint.server.admission.webhook.review import decode_request, encode_answer
from setpoint.server.message import Request

RULES = [rule(["configmaps"], groups=[""])]
NAME = "h.example.com"


def _stamp(request: AdmissionRequest) -> AdmissionResponse:
    assert request.object is not None
    data = request.object.get("data") or {}
    return change(request, {**request.object, "data": {**data, "stamp": request.user.username}}, warnings=["stamped"])


def _refuse(request: AdmissionRequest) -> AdmissionResponse:
    return deny(f"{request.operation} of {request.name} in {request.namespace}", code=451, reason="Because")


async def _note(request: AdmissionRequest) -> AdmissionResponse:
    await asyncio.sleep(0)
    return allow(warnings=["noted"], audit_annotations={"dry": str(request.dry_run)})


def _spoil(request: AdmissionRequest) -> AdmissionResponse:
    assert request.object is not None
    request.object["data"] = {"spoiled": "yes"}
    return allow()


def behind_a_url(decide: Decide) -> Behaviour:
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        request, version = decode_request(asked.body)
        decided = decide(request)
        decision = decided if isinstance(decided, AdmissionResponse) else await decided
        writer.write(response(encode_answer(decision, request.uid, version)))

    return answer


JUDGES = (_refuse, _note, _spoil)


@pytest.mark.parametrize(
    ("decide", "mutates"), [(_stamp, True), *((judge, mutates) for judge in JUDGES for mutates in (True, False))]
)
async def test_a_function_says_the_same_in_process_and_over_https(decide: Decide, mutates: bool) -> None:
    seen: list[tuple[int, object, list[str], dict[str, str]]] = []

    async def create(world: World) -> None:
        answer = await world.create(k="v", query="dryRun=All")
        noted = {key: value for key, value in world.annotations.items() if key.startswith(NAME)}
        seen.append((answer.status, _shown(answer), answer.warnings, noted))

    async def over_https(world: World) -> None:
        await world.hook(behind_a_url(decide), mutates=mutates)
        await create(world)

    made = (MutatingFunction if mutates else ValidatingFunction)(NAME, decide, RULES)
    async with new_world([made]) as world:
        await create(world)
    async with new_world() as world:
        await over_https(world)
    assert seen[0] == seen[1]


def _shown(answer: Answer) -> object:
    return answer.body.get("data") if answer.status == 201 else answer.body


async def test_a_function_is_asked_about_what_its_rules_name() -> None:
    asked: list[str] = []

    def note(request: AdmissionRequest) -> AdmissionResponse:
        asked.append(f"{request.operation} {request.resource.resource}/{request.subresource} {request.name}")
        return allow()

    match = {"objectSelector": {"matchLabels": {"watched": "yes"}}}
    rules = [rule(["configmaps"], operations=["CREATE", "DELETE"]), rule(["namespaces/status"])]
    async with new_world([ValidatingFunction("f", note, rules, match)]) as world:
        tree: Object = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "a", "labels": {"watched": "yes"}},
        }
        await world.create("unwatched")
        await world("POST", CONFIG_MAPS, tree)
        await world("PUT", f"{CONFIG_MAPS}/a", tree | {"data": {"k": "v"}})
        await world("DELETE", f"{CONFIG_MAPS}/a")
        assert asked == ["CREATE configmaps/ a", "DELETE configmaps/ a"]


async def test_a_function_that_fails_is_named_and_one_that_raises_an_error_of_the_api_is_passed_on() -> None:
    def broken(request: AdmissionRequest) -> AdmissionResponse:
        raise KeyError("x")

    def busy(request: AdmissionRequest) -> AdmissionResponse:
        raise TooManyRequests.of("come back later")

    async def fails(world: World) -> None:
        answer = await world.create()
        assert answer.status == 500
        assert answer.body["message"] == "Internal error occurred: admission function \"f\" failed: KeyError: 'x'"

    async def refuses(world: World) -> None:
        answer = await world.create()
        assert (answer.status, answer.body["message"]) == (429, "come back later")

    async with new_world([ValidatingFunction("f", broken, RULES)]) as world:
        await fails(world)
    async with new_world([MutatingFunction("f", busy, RULES)]) as world:
        await refuses(world)


@pytest.mark.parametrize(("again", "times"), [(False, 1), (True, 2)])
async def test_a_function_is_asked_again_if_it_wants_to_when_a_webhook_changed_the_object(
    again: bool, times: int
) -> None:
    seen: list[Object] = []

    def look(request: AdmissionRequest) -> AdmissionResponse:
        assert request.object is not None
        seen.append(request.object)
        return allow()

    async with new_world([MutatingFunction("f", look, RULES, again=again)]) as world:
        await world.hook(adding("late"), mutates=True)
        assert (await world.create()).status == 201
        assert len(seen) == times


async def test_webhooks_see_what_functions_made_of_the_object() -> None:
    async with new_world([MutatingFunction("f", _stamp, RULES)]) as world:
        peer = await world.hook(adding("x"), mutates=True)
        assert (await world.create()).body["data"] == {"stamp": "system:admin", "x": "yes"}
        assert requests(peer)[0]["object"]["data"] == {"stamp": "system:admin"}


async def test_a_control_plane_takes_functions() -> None:
    async def main(create: Callable[[ControlPlane], Awaitable[int]]) -> int:
        async with ControlPlane(admission=[ValidatingFunction("f", _refuse, RULES)]) as plane:
            return await create(plane)

    async def create(plane: ControlPlane) -> int:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
        headers = {"content-type": "application/json"}
        answer = await plane.handler(Request("POST", CONFIG_MAPS, "", headers, json.dumps(body).encode()))
        return answer.status

    assert (await main(create)) == 451
