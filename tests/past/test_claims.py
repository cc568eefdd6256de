"""Causes that a client supplies are claims of its user; only our own controllers and holders of a right state facts."""

import json
from datetime import UTC
from pathlib import Path

import pytest

import setpoint as sp
from setpoint.client.client import Client
from setpoint.client.patches import merge
from setpoint.objects.clock import ManualClock
from setpoint.objects.ids import SeededIds
from setpoint.objects.provenance import Cause, Reason
from setpoint.objects.tree import Object
from setpoint.past.blame import blame
from setpoint.past.object_ref import place_at
from setpoint.past.queries import read_history
from setpoint.past.reconciles import read_trace, read_traces
from setpoint.past.related_objects import Related
from setpoint.past.trace_lines import heading
from setpoint.past.who import writer_name
from setpoint.past.why.explain import explain
from setpoint.past.why.explanation_text import render
from setpoint.past.why.fact_collector import collect

from .world import START, Past, past

HISTORY = "/apis/setpoint.dev/v1/namespaces/default/configmaps/{}/history"


async def allow(client: Client, user: str, *rules: Object) -> None:
    """Lets a user do something in the whole cluster."""
    name = f"of-{user}"
    api = "rbac.authorization.k8s.io"
    await client.create(
        {"apiVersion": f"{api}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": list(rules)}
    )
    await client.create(
        {
            "apiVersion": f"{api}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": api, "kind": "User", "name": user}],
        }
    )


WRITES = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "get", "patch", "delete"]}
ASSERTS = {"apiGroups": ["setpoint.dev"], "resources": ["causes"], "verbs": ["assert"]}


async def causes(client: Client, name: str) -> list[Object]:
    answer = await client.raw("GET", HISTORY.format(name))
    return [item["cause"] for item in json.loads(answer.body)["items"]]


def forged(client: Client, *because: Reason, id: str = "r-1") -> Client:  # noqa: A002 - what it is
    return client.with_options(cause=Cause.reconcile("executable", "default/victim", id, because))


def configmap(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}


async def test_a_cause_is_a_claim_of_its_user_unless_the_user_has_the_right() -> None:
    async with past() as world:
        await allow(world.client, "mallory", WRITES)
        await allow(world.client, "operator", WRITES, ASSERTS)
        await allow(world.client, "limited", WRITES, {**ASSERTS, "resourceNames": ["web"]})
        for user in ("mallory", "operator", "limited"):
            await forged(world.plane.client(user=user)).create(configmap(user))
        await forged(world.client).create(configmap("administrator"))
        own = world.plane.client(user="limited").with_options(cause=Cause.reconcile("web", "a", "r-9"))
        await own.create(configmap("own"))
        known = {name: (await causes(world.client, name))[0] for name in ("mallory", "operator", "limited", "own")}
        assert known["mallory"]["claimedBy"] == "mallory"
        assert "verified" not in known["mallory"]
        assert known["limited"]["claimedBy"] == "limited"
        assert known["operator"]["verified"] is True
        assert known["own"]["verified"] is True
        assert "claimedBy" not in known["operator"]
        assert (await causes(world.client, "administrator"))[0]["verified"] is True


async def test_a_role_in_a_namespace_gives_no_right_to_state_causes() -> None:
    async with past() as world:
        await allow(world.client, "mallory", WRITES)
        api = "rbac.authorization.k8s.io"
        await world.client.create(
            {
                "apiVersion": f"{api}/v1",
                "kind": "RoleBinding",
                "metadata": {"name": "all", "namespace": "default"},
                "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [{"apiGroup": api, "kind": "User", "name": "mallory"}],
            }
        )
        await forged(world.plane.client(user="mallory")).create(configmap("a"))
        assert (await causes(world.client, "a"))[0]["claimedBy"] == "mallory"


async def test_who_is_impersonated_claims_with_their_own_rights_only() -> None:
    async with past() as world:
        await allow(world.client, "mallory", WRITES)
        await forged(world.client.as_("mallory")).create(configmap("a"))
        assert (await causes(world.client, "a"))[0]["claimedBy"] == "mallory"


async def test_the_servers_own_controllers_state_facts() -> None:
    async with sp.ControlPlane() as plane, plane.client() as client:
        await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}})
        await plane.settle()
        answer = await client.raw("GET", "/apis/setpoint.dev/v1/revisions", query=[("limit", "500")])
        told = [item for item in json.loads(answer.body)["items"] if (item.get("cause") or {}).get("controller")]
        assert told
        assert all(item["cause"].get("verified") is True for item in told)
        assert not any("system:masters" in item["actor"].get("groups", ()) for item in told)


async def scene(world: Past) -> None:
    """Bob writes something; mallory writes something else, and says that it was a controller, because of Bob's."""
    for user in ("bob", "mallory"):
        await allow(world.client, user, WRITES)
    by_bob = await world.plane.client(user="bob").create(configmap("bobs"))
    world.later(1)
    await world.configmap("victim", k="1")
    reason = Reason("updated", "ConfigMap", "default/bobs", by_bob["metadata"]["resourceVersion"])
    world.later(1)
    mallory = forged(world.plane.client(user="mallory"), reason)
    await mallory.patch("v1/ConfigMap", merge({"data": {"k": "broken"}}), "victim", "default")


async def test_a_forged_cause_makes_no_question_blame_somebody_else() -> None:
    async with past() as world:
        await scene(world)
        place = await place_at(world.client, "v1/ConfigMap", "victim", "default")
        facts = await collect(world.client, place, me=await world.me())
        story = explain(facts)
        text = render(story, width=None, zone=UTC, now=START)
        first, second = story.steps[:2]
        assert first.who == "mallory (claimed: executable controller)"
        assert second.who == "bob"
        assert second.caused.startswith("claimed by mallory: caused executable controller to reconcile")
        # Every line that names the controller names who claims it.
        assert all("claimed" in line for line in text.splitlines() if "executable controller" in line)
        found = await read_history(world.client, place)
        assert writer_name(found[-1].actor, found[-1].cause).startswith("mallory")
        assert found[-1].to_json()["cause"]["claimedBy"] == "mallory"
        [setter] = {line.setter for line in blame(found) if line.setter and "broken" in line.text}
        assert writer_name(setter.actor, setter.cause) == "mallory (claimed: executable controller)"


async def test_a_claim_is_no_part_of_the_reconcile_whose_id_it_names() -> None:
    async with past() as world:
        await scene(world)
        genuine = forged(world.client)
        await genuine.patch("v1/ConfigMap", merge({"data": {"k": "mended"}}), "victim", "default")
        related = Related(world.client, await world.client.mapper.resources(refresh=False))
        place = await place_at(world.client, "v1/ConfigMap", "victim", "default")
        tree = await world.client.get("v1/ConfigMap", "victim", "default")
        traces = {each.claimed_by: each for each in await read_traces(world.client, place, tree, related)}
        assert set(traces) == {"", "mallory"}
        assert [write.actor.user for write in traces[""].writes] == ["system:admin"]
        assert heading(traces["mallory"], str).startswith("claimed by mallory: executable reconciled")
        assert not heading(traces[""], str).startswith("claimed")
        assert (await read_trace(world.client, related, "r-1")).claimed_by == ""


@pytest.mark.parametrize("store", ["memory:{}/past", "sqlite:{}/past.db"])
async def test_claims_are_kept_over_a_restart(store: str, tmp_path: Path) -> None:
    def plane() -> sp.ControlPlane:
        return sp.ControlPlane(store.format(tmp_path), clock=ManualClock(START), ids=SeededIds(7), system=False)

    async with plane() as first, first.client() as client:
        await allow(client, "mallory", WRITES)
        await forged(first.client(user="mallory")).create(configmap("a"))
        await forged(client).create(configmap("b"))
    async with plane() as again, again.client() as client:
        assert (await causes(client, "a"))[0]["claimedBy"] == "mallory"
        assert (await causes(client, "b"))[0]["verified"] is True


async def test_a_long_header_is_passed_over_with_a_warning() -> None:
    async with past() as world:
        answer = await world.client.raw(
            "POST",
            "/api/v1/namespaces/default/configmaps",
            body=b'{"metadata":{"name":"a"}}',
            headers={"setpoint-cause": "c/i/k?" + "&".join(["timer///"] * 17), "content-type": "application/json"},
        )
        assert "17 reasons" in answer.headers["warning"]
        assert "controller" not in (await causes(world.client, "a"))[0]
