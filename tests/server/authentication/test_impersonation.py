"""Impersonation: who may ask in whose name, what the request then counts as, and what does not get past."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.server.authentication.asking import ADMINS, CONFIG_MAPS, JANES, ROLES, Asking
from tests.server.edge.edge import Client

from setpoint.objects.clock import SystemClock
from setpoint.objects.tree import Object
from setpoint.server.edge.listener import Listener

CASES = yaml.safe_load((Path(__file__).parent / "cases" / "impersonation.yaml").read_text())
AUTHENTICATION = "authentication.k8s.io"


def rule(verb: str, *resources: str, group: str = "", names: tuple[str, ...] = ()) -> Object:
    found: Object = {"apiGroups": [group], "resources": list(resources), "verbs": [verb]}
    return {**found, "resourceNames": list(names)} if names else found


def joined(headers: dict[str, Any]) -> dict[str, str]:
    """Headers as the edge gives them: those of impersonation that are there more than once, a value a line."""
    return {name: "\n".join(value) if isinstance(value, list) else value for name, value in headers.items()}


@pytest.mark.parametrize("case", CASES["allowed"], ids=lambda case: case["name"])
async def test_who_may_do_everything_can_be_anybody(ask: Asking, case: Object) -> None:
    # Not every user may ask who it is: the answer to that is the least of what matters here.
    await ask.made(
        f"{ROLES}/clusterrolebindings",
        {
            "metadata": {"name": "everybody-may-ask"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "system:basic-user",
            },
            "subjects": [
                {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}
                for group in ("system:unauthenticated", "g1", "a, b")
            ],
        },
    )
    found = await ask.whoami(ADMINS, joined(case["headers"]))
    assert found == case["user"]


@pytest.mark.parametrize("case", CASES["malformed"], ids=lambda case: case["name"])
async def test_headers_without_a_user_to_be_are_refused(ask: Asking, case: Object) -> None:
    answer = await ask("GET", CONFIG_MAPS, headers=joined(case["headers"]))
    assert (answer.status, answer.message) == (400, case["message"])


@pytest.mark.parametrize("case", CASES["judged"], ids=lambda case: case["name"])
async def test_each_value_takes_a_right_of_its_own(ask: Asking, case: Object) -> None:
    if case.get("rules"):
        await ask.allow("jane", *case["rules"])
    for user in ("bob", "system:serviceaccount:default:bot", "system:node:n1"):
        await ask.allow(user, rule("list", "configmaps"))
    answer = await ask("GET", CONFIG_MAPS, token=JANES, headers=joined(case["headers"]))
    if "message" in case:
        assert (answer.status, answer.message) == (403, case["message"])
    else:
        assert answer.status == 200, answer.body


async def test_the_impersonated_user_is_who_is_authorized(ask: Asking) -> None:
    await ask.allow("bob", rule("list", "configmaps"))
    as_bob = {"impersonate-user": "bob"}
    assert (await ask("GET", CONFIG_MAPS, headers=as_bob)).status == 200
    refused = await ask("DELETE", f"{CONFIG_MAPS}/x", headers=as_bob)
    assert (refused.status, 'User "bob" cannot delete' in refused.message) == (403, True)


async def test_the_mode_that_worked_last_is_tried_first_and_its_refusal_is_told(ask: Asking) -> None:
    await ask.allow("jane", rule("impersonate", "users", names=("bob",)))
    await ask.allow("bob", rule("list", "configmaps"))

    async def refusal() -> str:
        return (await ask("GET", CONFIG_MAPS, token=JANES, headers={"impersonate-user": "eve"})).message

    assert "cannot impersonate-on:user-info:list" in await refusal()
    assert (await ask("GET", CONFIG_MAPS, token=JANES, headers={"impersonate-user": "bob"})).status == 200
    assert 'users "eve" is forbidden: User "jane" cannot impersonate resource "users"' in await refusal()


async def test_a_right_that_is_taken_away_is_gone_with_the_next_request(ask: Asking) -> None:
    await ask.allow("jane", rule("impersonate", "users"))
    await ask.allow("bob", rule("list", "configmaps"))
    as_bob = {"impersonate-user": "bob"}
    assert (await ask("GET", CONFIG_MAPS, token=JANES, headers=as_bob)).status == 200
    assert (await ask("DELETE", f"{ROLES}/clusterrolebindings/jane")).status == 200
    assert (await ask("GET", CONFIG_MAPS, token=JANES, headers=as_bob)).status == 403


async def test_history_keeps_who_really_asked(ask: Asking) -> None:
    await ask.allow("bob", rule("create", "configmaps"))
    body = {"metadata": {"name": "a"}}
    assert (await ask("POST", CONFIG_MAPS, body, headers={"impersonate-user": "bob"})).status == 201
    found = await ask("GET", "/apis/setpoint.dev/v1/namespaces/default/configmaps/a/history")
    actor = found.body["items"][0]["actor"]
    assert (actor["user"], actor["impersonator"]) == ("bob", "system:admin")


SMUGGLED = [
    ("Impersonate_User: admin", "as itself"),
    ("X-Impersonate-User: admin", "as itself"),
    ("Impersonate-User : admin", "refused"),
    ("Impersonate-User\t: admin", "refused"),
    (" Impersonate-User: admin", "refused"),
    ("X-A: b\r\n Impersonate-User: admin", "refused"),
    ("X-A: b\nImpersonate-User: bob", "refused or impersonated"),
    ("X-A: b\rImpersonate-User: admin", "refused"),
    ("X-A: b\0\r\nImpersonate-User: bob", "refused"),
    ("Impersonate-Group: a\n system:masters\r\nImpersonate-User: bob", "refused"),
    ("IMPERSONATE-USER: bob", "impersonated"),
    ("impersonate-user: bob", "impersonated"),
    ("Impersonate-User: bob\r\nImpersonate-User: admin", "impersonated"),
    ("Impersonate-User: \r\nX-A: b", "as itself"),
]


@pytest.mark.parametrize(("lines", "outcome"), SMUGGLED, ids=[repr(lines) for lines, _ in SMUGGLED])
async def test_no_spelling_of_the_headers_makes_more_of_a_user(ask: Asking, lines: str, outcome: str) -> None:
    """Off the wire: jane may be bob, and only bob may list. Whatever is sent, nobody becomes the administrator."""
    await ask.allow("jane", rule("impersonate", "users", names=("bob",)), rule("get", "configmaps"))
    await ask.allow("bob", rule("list", "configmaps"))
    listener = Listener(ask.server, SystemClock())
    host, port = await listener.listen("127.0.0.1", 0)
    client = Client(*await asyncio.open_connection(host, port))
    answer = await client.ask(CONFIG_MAPS, headers=f"Authorization: Bearer {JANES}\r\n{lines}\r\n")
    client.writer.close()
    await listener.close(0.1)
    message = json.loads(answer.body).get("message", "")
    found = {200: "impersonated", 400: "refused", 403: "as itself"}[answer.status]
    assert found in outcome, message
    if found == "as itself":
        assert 'User "jane" cannot list' in message


async def test_groups_off_the_wire_stay_apart_even_with_commas_inside(ask: Asking) -> None:
    listener = Listener(ask.server, SystemClock())
    host, port = await listener.listen("127.0.0.1", 0)
    client = Client(*await asyncio.open_connection(host, port))
    lines = ["Impersonate-User: jürgen", "Impersonate-Group: a, b", "Impersonate-Group: c", "impersonate-group: c"]
    lines += ["Impersonate-Extra-Acme.com%2Fproject: x, y", "Impersonate-Extra-acme.com%2fproject: z"]
    headers = "".join(f"{line}\r\n" for line in [f"Authorization: Bearer {ADMINS}", *lines])
    body = json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).encode()
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    answer = await client.ask(path, "POST", body, f"Content-Type: application/json\r\n{headers}")
    client.writer.close()
    await listener.close(0.1)
    assert json.loads(answer.body)["status"]["userInfo"] == {
        "username": "jürgen",
        "groups": ["a, b", "c", "c", "system:authenticated"],
        "extra": {"acme.com/project": ["x, y", "z"]},
    }
