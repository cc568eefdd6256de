"""The past of objects: what it tells, what it leaves out, and that it is what was."""

from datetime import timedelta

import pytest

import setpoint as sp
from setpoint.client.patches import merge
from setpoint.objects.provenance import Reason
from setpoint.past.blame import blame, blame_by_managers
from setpoint.past.moment import Moment
from setpoint.past.object_ref import place_at
from setpoint.past.queries import NoHistory, NotInHistory, read_at, read_history, read_log, revision_at
from setpoint.past.reconciles import read_traces
from setpoint.past.related_objects import Related
from setpoint.past.revision import folded
from setpoint.past.timeline import timeline
from setpoint.past.trace import written
from setpoint.past.who import writer_name

from .world import EXECUTABLE, START, Past, past


async def a_life(world: Past) -> None:
    """A ConfigMap that is made, changed, deleted and made again."""
    made = await world.configmap("a", k="1")
    world.later(10)
    await world.client.as_("jane").patch(made, merge({"data": {"k": "2", "l": "3"}}), field_manager="kubectl-edit")
    world.later(10)
    await world.client.delete(made)
    world.later(10)
    await world.configmap("a", k="9")


async def jane_may_write(world: Past) -> None:
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "w"},
        "rules": rules,
    }
    await world.client.create(role)
    subject = {"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}
    ref = {"kind": "ClusterRole", "name": "w", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"apiVersion": role["apiVersion"], "kind": "ClusterRoleBinding", "metadata": {"name": "w"}}
    await world.client.create({**binding, "roleRef": ref, "subjects": [subject]})


async def test_a_history_tells_every_life_of_a_name_who_when_and_what() -> None:
    async with past() as world:
        await jane_may_write(world)
        await a_life(world)
        found = await read_history(world.client, await world.place("v1/ConfigMap", "a"))
        me = await world.me()
        assert [(writer_name(each.actor, each.cause, me), each.summary) for each in found] == [
            ("you", "created"),
            ("jane (really you) (kubectl-edit)", "data.k 1→2, data.l set to 3"),
            ("you", "deleted"),
            ("you", "created"),
        ]
        assert [(each.time - START).total_seconds() for each in found] == [0, 10, 20, 30]


async def test_what_is_rolled_forward_is_what_the_server_had() -> None:
    async with past() as world:
        await jane_may_write(world)
        await a_life(world)
        place = await world.place("v1/ConfigMap", "a")
        for each in await read_history(world.client, place):
            then = await read_at(world.client, place, Moment(revision=each.number))
            if then is None:
                assert each.raw is None
                continue
            for name in ("managedFields", "resourceVersion"):
                then["metadata"].pop(name, None)
            assert each.raw == then


@pytest.mark.parametrize(
    ("since", "until", "summaries"),
    [
        (5, None, ["data.k 1→2, data.l set to 3", "deleted", "created"]),
        (None, 15, ["created", "data.k 1→2, data.l set to 3"]),
        (10, 20, ["data.k 1→2, data.l set to 3", "deleted"]),
        (31, None, []),
    ],
)
async def test_a_history_can_be_of_a_while(since: int | None, until: int | None, summaries: list[str]) -> None:
    def moment(seconds: int | None) -> Moment | None:
        return None if seconds is None else Moment(time=START + timedelta(seconds=seconds))

    async with past() as world:
        await jane_may_write(world)
        await a_life(world)
        place = await world.place("v1/ConfigMap", "a")
        found = await read_history(world.client, place, since=moment(since), until=moment(until))
        assert [each.summary for each in found] == summaries


async def test_a_long_history_is_read_page_by_page() -> None:
    async with past() as world:
        made = await world.configmap("a", k="0")
        for number in range(1, 130):
            await world.client.patch(made, merge({"data": {"k": str(number)}}))
        place = await world.place("v1/ConfigMap", "a")
        found = await read_history(world.client, place)
        assert [each.summary for each in found[-2:]] == ["data.k 127→128", "data.k 128→129"]
        assert len(found) == 130
        recent = await read_history(world.client, place, since=Moment(revision=found[-3].number))
        assert [each.summary for each in recent] == ["data.k 126→127", "data.k 127→128", "data.k 128→129"]


async def test_revisions_that_say_nothing_are_one() -> None:
    async with past(workloads=True) as world:
        made = await world.workload("Executable", "api", {"executablePath": "/bin/true"})
        for second in range(5):
            world.later(1)
            results = [{"probeName": "http", "outcome": "Success", "timestamp": f"2026-03-01T14:00:0{second}.000000Z"}]
            client = world.controller("executable", "api", Reason("requested", "", "processes"))
            await world.status(client, made, state="Running", healthProbeResults=results)
        found = await read_history(world.client, await world.place(EXECUTABLE, "api"))
        assert len(found) == 6
        shown = folded(found)
        assert [each.folded for each in shown] == [0, 0, 3]
        assert shown[-1].summary.endswith("(3 more times before)")


async def test_what_was_never_there_is_said_to_be_so() -> None:
    async with past() as world:
        with pytest.raises(
            NotInHistory, match="ConfigMap/default/nope does not exist, and is not in the retained history"
        ):
            await read_history(world.client, await world.place("v1/ConfigMap", "nope"))


async def test_who_may_not_read_the_past_is_told() -> None:
    async with past() as world:
        await jane_may_write(world)
        await world.configmap("a")
        place = await world.place("v1/ConfigMap", "a")
        with pytest.raises(NoHistory, match=r"cannot read the history: .*jane"):
            await read_history(world.client.as_("jane"), place)


async def test_a_time_is_a_revision_and_the_log_tells_of_all() -> None:
    async with past() as world:
        made = await world.configmap("a")
        world.later(10)
        await world.configmap("b")
        first = int(made["metadata"]["resourceVersion"])
        assert await revision_at(world.client, Moment(time=START + timedelta(seconds=5))) == first
        assert [each["object"]["name"] for each in await read_log(world.client, first - 1)] == ["a", "b"]


async def test_blame_says_of_every_field_who_set_it_last() -> None:
    async with past() as world:
        await jane_may_write(world)
        made = await world.configmap("a", k="1", l="1")
        world.later(10)
        await world.client.as_("jane").patch(made, merge({"data": {"l": "2"}}))
        found = await read_history(world.client, await world.place("v1/ConfigMap", "a"))
        setters = {line.text.strip(): line.setter for line in blame(found)}
        first, second = found
        by_first, by_second = setters['k: "1"'], setters['l: "2"']
        assert by_first is not None
        assert (by_first.revision, by_first.time) == (first.number, first.time)
        assert by_second is not None
        assert (by_second.revision, by_second.actor.user) == (second.number, "jane")
        assert setters["data:"] is None


async def test_without_a_past_blame_goes_by_who_manages_fields() -> None:
    async with past() as world:
        made = await world.client.create(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "a", "namespace": "default"},
                "spec": {"ports": [{"name": "http", "port": 80}]},
            },
            field_manager="kubectl",
        )
        world.later(60)
        changed = await world.client.patch(made, merge({"metadata": {"labels": {"x": "y"}}}), field_manager="labeller")
        managers = {
            line.text.strip(): (line.setter.actor.user, line.setter.time)
            for line in blame_by_managers(changed)
            if line.setter is not None
        }
        assert managers['x: "y"'] == ("labeller", START + timedelta(seconds=60))
        assert managers["port: 80"] == ("kubectl", START)
        assert "clusterIP: 10.96.0.1" not in managers


async def test_a_timeline_puts_objects_and_what_they_own_in_order() -> None:
    async with past() as world:
        owner = await world.configmap("owner")
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
        metadata = {"name": "child", "namespace": "default", "ownerReferences": [{**reference, "controller": True}]}
        client = world.controller("website", "default/owner", owner)
        child = await client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        await world.configmap("stranger")
        await world.client.patch(owner, merge({"data": {"k": "1"}}))
        place = await world.place("v1/ConfigMap", "owner")
        related = Related(world.client, await world.client.mapper.resources())
        assert [each.name for each in await related.owned(owner, place)] == ["child"]
        found = await timeline(world.client, [place, *await related.owned(owner, place)])
        assert [(each.place.name, each.summary) for each in found] == [
            ("owner", "created"),
            ("child", "created"),
            ("owner", "data.k set to 1"),
        ]
        assert [(each.name, tree is not None) for each, tree in await related.owners(child, "default")] == [
            ("owner", True)
        ]


async def test_a_trace_tells_of_each_reconcile_what_it_ran_for_and_what_it_wrote() -> None:
    async with past() as world:
        owner = await world.configmap("owner")
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
        metadata = {"name": "child", "namespace": "default", "ownerReferences": [reference]}
        client = world.controller("website", "default/owner", owner)
        await client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        await client.patch(owner, merge({"metadata": {"annotations": {"seen": "yes"}}}))
        await client.create(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {**metadata, "name": "unowned", "ownerReferences": []},
            }
        )
        await world.configmap("stranger")
        place = await world.place("v1/ConfigMap", "owner")
        related = Related(world.client, await world.client.mapper.resources())
        (found,) = await read_traces(world.client, place, owner, related)
        assert (found.cause.controller, found.cause.key) == ("website", "default/owner")
        assert [each.place.name for each in found.writes] == ["child", "owner", "unowned"]
        ((reason, write),) = found.because
        assert write is not None
        assert (reason.revision, write.summary) == (owner["metadata"]["resourceVersion"], "created")


async def test_controllers_say_with_each_write_what_they_ran_for() -> None:
    async with sp.ControlPlane() as plane, plane.client() as client:
        await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "old"}})
        metadata = {"name": "a", "namespace": "old"}
        await client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        await client.delete("v1/Namespace", "old")
        await plane.settle()
        gone = (await read_history(client, await place_at(client, "v1/ConfigMap", "a", "old")))[-1]
        assert gone.cause is not None
        assert (gone.summary, gone.cause.controller) == ("deleted", "namespace-controller")
        (reason,) = gone.cause.because
        began = written(reason, await read_history(client, await place_at(client, "v1/Namespace", "old")))
        assert began is not None
        assert began.summary == "deletion began"
