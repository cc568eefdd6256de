"""The cache: who is shared, when informers begin and end, where they look, and what reads of it show."""

import asyncio
from typing import Any

import pytest
from tests.cache.faults import CONFIG_MAP, GONE, Journal, World, answer_of, config_map, names, new_world
from tests.client.test_client import Widget, widget

from setpoint.cache.cache import NotCached, _is_seen
from setpoint.cache.shared_watch import NotSynced
from setpoint.cache.transforms import chain, drop, keep_only, strip_managed_fields
from setpoint.cache.writes import FEW_NOTES, Target, Write
from setpoint.client.transport import Call
from setpoint.objects.errors import NotFound
from setpoint.objects.tree import Object


async def make_namespaces(world: World, *given: str) -> None:
    for name in given:
        await world.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


@pytest.mark.feature("E33")
async def test_whoever_wants_the_same_shares_it(world: World) -> None:
    one = await world.followed()
    two = await world.followed()
    other = await world.followed(labels="app=x")
    assert one is two
    assert other is not one
    assert len(world.faults.watches) == 2


@pytest.mark.feature("E33")
async def test_an_informer_ends_a_while_after_the_last_has_released_it(world: World) -> None:
    one = await world.followed()
    await world.followed()
    await world.cache.release(one)
    await world.advance(11)
    assert world.cache.informers == [one]
    await world.cache.release(one)
    await world.advance(9)
    again = world.cache.acquire(CONFIG_MAP, "default")
    assert again is one
    await world.advance(5)
    assert one.state == "watching"
    await world.cache.release(one)
    await world.advance(11)
    assert world.cache.informers == []
    assert one.state == "stopped"


async def test_using_waits_until_everything_is_there() -> None:
    async with new_world(grace=0) as world:
        await world.client.create(config_map("a"))
        async with world.cache.use(CONFIG_MAP, "default") as informer:
            assert names(informer) == ["a"]
        assert informer.state == "stopped"


async def test_stopping_the_informer_of_one_kind_leaves_the_others() -> None:
    async with new_world(grace=0) as world:
        maps, secrets = await world.followed(), await world.followed("v1/Secret")
        await world.cache.release(secrets)
        assert (maps.state, secrets.state) == ("watching", "stopped")
        assert world.cache.informers == [maps]
        assert world.cache.informer(CONFIG_MAP, "default") is maps
        again = await world.followed("v1/Secret")
        assert again is not secrets
        assert again.state == "watching"


@pytest.mark.feature("E33")
async def test_a_kind_that_nobody_declared_is_read_from_the_server_and_never_followed(world: World) -> None:
    await world.client.create(config_map("a", labels={"app": "x"}))
    found = await world.cache.get(CONFIG_MAP, "a", "default")
    assert found is not None
    assert found["kind"] == "ConfigMap"
    with pytest.raises(TypeError, match="thaw"):
        found["data"] = {}
    assert await world.cache.get(CONFIG_MAP, "b", "default") is None
    assert [item["metadata"]["name"] for item in await world.cache.list(CONFIG_MAP, labels="app=x")] == ["a"]
    query = await world.cache.query(CONFIG_MAP, "default")
    assert query.where("metadata.name", "=", "a").count() == 1
    assert world.cache.counts.live == 4
    assert world.faults.watches == []
    with pytest.raises(NotCached, match="declare the kind"):
        world.cache.informer(CONFIG_MAP)


async def test_reads_are_answered_by_whatever_has_all_of_it(world: World) -> None:
    await world.client.create(Widget.crd())
    await world.client.create(widget("a", size=3))
    await world.followed(Widget, "")
    sent = len(world.faults.calls)
    typed = await world.cache.get(Widget, "a", "default")
    tree = await world.cache.get("example.com/v1/Widget", "a", "default")
    assert typed is not None
    assert tree is not None
    assert (typed.spec.size, tree["spec"]["size"]) == (3, 3)
    assert len(await world.cache.list(Widget, "default", fields="spec.size=3,spec.color!=blue")) == 1
    assert await world.cache.list(Widget, "elsewhere") == []
    assert len(world.faults.calls) == sent


@pytest.mark.feature("E34")
async def test_what_sees_only_a_part_answers_for_nothing_else(world: World) -> None:
    await make_namespaces(world, "one", "two")
    await world.client.create(config_map("a", "one"))
    await world.client.create(config_map("b", "two"))
    await world.followed(CONFIG_MAP, "one")
    await world.followed(CONFIG_MAP, "", labels="app=x")
    assert await world.cache.get(CONFIG_MAP, "a", "one") is not None
    assert world.cache.counts.live == 0
    assert await world.cache.get(CONFIG_MAP, "b", "two") is not None
    assert world.cache.counts.live == 1


@pytest.mark.feature("E34")
async def test_a_cache_of_some_namespaces_looks_only_there() -> None:
    async with new_world(namespaces=["one", "two"]) as world:
        await make_namespaces(world, "one", "two", "three")
        for namespace in ("one", "two", "three"):
            await world.client.create(config_map(f"in-{namespace}", namespace))
        informer = await world.followed(CONFIG_MAP, "")
        assert names(informer) == ["in-one", "in-two"]
        assert await world.cache.get(CONFIG_MAP, "in-three", "three") is not None
        assert world.cache.counts.live == 1, "read from the server"
        assert len(await world.cache.list(CONFIG_MAP)) == 2
        assert world.cache.counts.live == 1
        assert {call.path for call in world.faults.calls if ("watch", "true") in call.query} == {
            "/api/v1/namespaces/one/configmaps",
            "/api/v1/namespaces/two/configmaps",
        }
        journal = Journal()
        informer.add_handler(journal, replay=False)
        await world.client.delete(CONFIG_MAP, "in-one", "one")
        await world.settle()
        assert journal.take() == ["-in-one"]
        await world.cache.set_namespaces(["two", "three"])
        await world.until(lambda: informer.synced)
        assert names(informer) == ["in-three", "in-two"]
        assert "+in-three*" in journal.take()
        await world.cache.set_namespaces(["three"])
        await world.settle()
        assert "-in-two!" in journal.take()
        assert await world.cache.get(CONFIG_MAP, "in-three", "three") is not None
        assert world.cache.counts.live == 1


@pytest.mark.feature("E34")
async def test_only_what_has_the_labels_and_fields_is_kept_and_it_goes_when_it_loses_them(world: World) -> None:
    await world.client.create(config_map("a", labels={"app": "x"}))
    await world.client.create(config_map("b"))
    labelled = await world.followed(labels={"app": "x"})
    named = await world.followed(fields={"metadata.name": "b"})
    assert (names(labelled), names(named)) == (["a"], ["b"])
    journal = Journal()
    labelled.add_handler(journal, replay=False)
    await world.client.update(config_map("a"))
    await world.client.update(config_map("b", labels={"app": "x"}))
    await world.settle()
    assert journal.texts == ["-a", "+b"]


@pytest.mark.feature("E35")
async def test_a_transform_decides_what_is_kept(world: World) -> None:
    await world.client.create(config_map("a", k="v", secret="s"))
    informer = await world.followed(transform=chain(strip_managed_fields, keep_only("data.k")))
    tree = informer.get("default/a")
    assert tree is not None
    assert tree["data"] == {"k": "v"}
    assert tree["kind"] == "ConfigMap"
    assert "managedFields" not in tree["metadata"]
    await world.client.update(config_map("a", k="w", secret="t"))
    await world.settle()
    assert (informer.get("default/a") or {})["data"] == {"k": "w"}


async def test_what_somebody_keeps_a_part_of_is_whole_for_everybody_else(world: World) -> None:
    await world.client.create(config_map("a", k="v", secret="s"))
    await world.followed(transform=keep_only("data.k"))
    found = await world.cache.get(CONFIG_MAP, "a", "default")
    assert found is not None
    assert found["data"] == {"k": "v", "secret": "s"}
    assert world.cache.counts.live == 1


@pytest.mark.feature("E35")
async def test_a_cache_can_transform_everything_or_some_kinds() -> None:
    async with new_world(transform=strip_managed_fields, transforms={CONFIG_MAP: drop("data.secret")}) as world:
        await make_namespaces(world, "one")
        await world.client.create(config_map("a", k="v", secret="s"))
        await world.followed()
        await world.followed("v1/Namespace", "")
        found = await world.cache.get(CONFIG_MAP, "a", "default")
        place = await world.cache.get("v1/Namespace", "one")
        assert found is not None
        assert place is not None
        assert found["data"] == {"k": "v"}
        assert "managedFields" in found["metadata"]
        assert "managedFields" not in place["metadata"]
        assert world.cache.counts.live == 0


async def test_a_transform_that_fails_loses_nothing(world: World) -> None:
    def fails(tree: Object) -> Object:
        raise ValueError(tree["metadata"]["name"])

    await world.client.create(config_map("a", k="v"))
    informer = await world.followed(transform=fails)
    assert (informer.get("default/a") or {})["data"] == {"k": "v"}


def test_paths_to_keep_and_to_drop_go_through_lists() -> None:
    tree = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "uid": "u", "annotations": {"x": "y"}, "managedFields": []},
        "spec": {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"},
        "status": {"phase": "Running"},
    }
    kept = keep_only("spec.containers.image", "status.phase", "status")(tree)
    assert kept == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "uid": "u"},
        "spec": {"containers": [{"image": "i"}]},
        "status": {"phase": "Running"},
    }
    assert drop("spec.containers.image", "status")(tree)["spec"] == {"containers": [{"name": "c"}], "nodeName": "n"}


def test_a_path_below_a_selected_one_selects_no_less() -> None:
    tree = {"metadata": {"name": "a"}, "spec": {"a": {"b": 1, "c": 2}, "d": 3}}
    for paths in (("spec.a", "spec.a.b"), ("spec.a.b", "spec.a"), ("spec.a", "spec.a.b.x.y"), (".spec.a",)):
        assert keep_only(*paths)(tree)["spec"] == {"a": {"b": 1, "c": 2}}
    assert keep_only("spec", "spec.a.b")(tree)["spec"] == tree["spec"]
    assert drop("spec.a", "spec.a.b")({"spec": {"a": {"b": 1}, "d": 3}}) == {"spec": {"d": 3}}
    assert drop("spec.a.b")({"spec": [{"a": {"b": 1, "c": 2}}, {"a": 7}, 5]}) == {
        "spec": [{"a": {"c": 2}}, {"a": 7}, 5]
    }


@pytest.mark.feature("E34")
async def test_readers_of_one_kind_in_different_forms_share_a_watch_and_keep_their_forms(world: World) -> None:
    await world.client.create(Widget.crd())
    await world.client.create(widget("a", size=3))
    trees, typed = await world.followed("example.com/v1/Widget"), await world.followed(Widget)
    refused: list[Call] = []

    def refuse_to_resume(call: Call) -> Any:
        if "/widgets" not in call.path or "sendInitialEvents" in dict(call.query) or refused:
            return None
        refused.append(call)
        return answer_of(GONE)

    world.faults.refuse = refuse_to_resume
    world.faults.cut()
    await world.client.create(widget("b", size=4))
    await world.until(lambda: len(trees.list()) == len(typed.list()) == 2)
    assert len(refused) == 1, "hence the second widget came with a list"
    await world.client.create(widget("c", size=5))
    await world.until(lambda: len(trees.list()) == len(typed.list()) == 3)
    assert sorted(each["spec"]["size"] for each in trees.list()) == [3, 4, 5]
    assert sorted(each.spec.size for each in typed.list()) == [3, 4, 5]
    assert [isinstance(each, Widget) for each in (*trees.list(), *typed.list())] == [False] * 3 + [True] * 3


# Own writes


def behind(world: World) -> None:
    """Holds back what the informers hear, until `catch_up`."""
    world.faults.interrupt = lambda call, number, line: b""


async def catch_up(world: World) -> None:
    world.faults.interrupt = lambda call, number, line: line
    world.faults.cut()
    await world.settle()


async def test_writes_that_have_been_seen_are_not_remembered_though_nobody_reads(world: World) -> None:
    await world.followed()
    for number in range(3 * FEW_NOTES):
        await world.cache.client.create(config_map(f"a{number}"))
        await world.settle()
    assert len(world.cache.writes.of(Target("", "configmaps"))) <= FEW_NOTES
    behind(world)
    for number in range(3 * FEW_NOTES):
        await world.cache.client.update(config_map(f"a{number}", k="new"))
    assert len(world.cache.writes.of(Target("", "configmaps"))) == 3 * FEW_NOTES


async def test_a_read_shows_what_this_process_wrote_before(world: World) -> None:
    await world.followed()
    own = world.cache.client
    await own.create(config_map("a", k="1"))
    assert (await world.cache.get(CONFIG_MAP, "a", "default") or {})["data"] == {"k": "1"}
    await own.update(config_map("a", k="2"))
    assert [item["data"] for item in await world.cache.list(CONFIG_MAP, "default") if "data" in item][-1] == {"k": "2"}
    await own.with_options(field_manager="me").delete(CONFIG_MAP, "a", "default")
    assert await world.cache.get(CONFIG_MAP, "a", "default") is None
    assert world.cache.counts.late == 0
    assert not world.cache.writes  # all seen: nothing to remember


async def test_a_read_waits_only_for_the_object_it_is_about_and_not_at_all_if_told_so(world: World) -> None:
    await world.client.create(config_map("other"))
    await world.followed()
    behind(world)
    await world.cache.client.create(config_map("a"))
    assert await world.cache.get(CONFIG_MAP, "other", "default") is not None
    assert await world.cache.get(CONFIG_MAP, "a", "default", consistency="any") is None
    reading = asyncio.ensure_future(world.cache.get(CONFIG_MAP, "a", "default"))
    listing = asyncio.ensure_future(world.cache.list(CONFIG_MAP))
    elsewhere = await world.cache.list(CONFIG_MAP, "default", consistency="any")
    await world.settle()
    assert not reading.done()
    assert "a" not in [item["metadata"]["name"] for item in elsewhere]
    await catch_up(world)
    await world.advance(1)
    found = await reading
    assert found is not None
    assert "a" in [item["metadata"]["name"] for item in await listing]
    assert world.cache.counts.waited >= 1


async def test_a_read_that_waits_too_long_asks_the_server_and_is_counted(world: World) -> None:
    await world.followed()
    behind(world)
    await world.cache.client.create(config_map("a"))
    reading = asyncio.ensure_future(world.cache.get(CONFIG_MAP, "a", "default"))
    await world.advance(9)
    assert not reading.done()
    await world.advance(2)
    found = await reading
    assert found is not None
    assert found["metadata"]["name"] == "a"
    assert world.cache.counts.late == 1


async def test_a_deletion_is_known_by_the_uid_of_what_is_gone(world: World) -> None:
    await world.client.create(config_map("a"))
    await world.followed()
    behind(world)
    await world.cache.client.delete(CONFIG_MAP, "a", "default")
    reading = asyncio.ensure_future(world.cache.get(CONFIG_MAP, "a", "default"))
    await world.settle()
    assert not reading.done()
    await world.client.create(config_map("a", k="another"))
    await catch_up(world)
    await world.advance(1)
    found = await reading
    assert found is None or found["data"] == {"k": "another"}  # but not the one that is gone


async def test_an_object_on_its_way_out_is_still_shown(world: World) -> None:
    kept = config_map("a")
    kept["metadata"]["finalizers"] = ["example.com/keep"]
    await world.client.create(kept)
    await world.followed()
    await world.cache.client.delete(CONFIG_MAP, "a", "default")
    found = await world.cache.get(CONFIG_MAP, "a", "default")
    assert found is not None
    assert found["metadata"]["deletionTimestamp"]


async def test_what_was_deleted_together_is_seen_to_be_gone(world: World) -> None:
    for name in ("a", "b"):
        await world.client.create(config_map(name, labels={"app": "x"}))
    await world.followed()
    await world.cache.client.delete_all(CONFIG_MAP, "default", labels="app=x")
    assert await world.cache.list(CONFIG_MAP, "default", labels="app=x") == []


async def test_dry_runs_are_not_waited_for(world: World) -> None:
    await world.client.create(config_map("a"))
    await world.followed()
    own = world.cache.client
    await own.create(config_map("b"), dry_run=True)
    await own.update(config_map("a", k="1"), dry_run=True)
    await own.delete(CONFIG_MAP, "a", "default", dry_run=True)
    assert not world.cache.writes


async def test_a_write_that_a_filtered_informer_will_never_see_is_not_waited_for(world: World) -> None:
    informer = await world.followed(labels="app=x")
    made = await world.cache.client.create(config_map("a"))
    revision = int(made["metadata"]["resourceVersion"])
    assert _is_seen(informer, "default/a", Write(revision, labels={}))
    assert not _is_seen(informer, "default/a", Write(revision, labels={"app": "x"}))


async def test_one_can_ask_for_an_object_to_be_at_least_so_new(world: World) -> None:
    await world.followed()
    made = await world.client.create(config_map("a"))
    assert await world.cache.at_least(CONFIG_MAP, "default/a", made["metadata"]["resourceVersion"])
    assert world.cache.informer(CONFIG_MAP, "default").get("default/a") is not None
    assert await world.cache.at_least(CONFIG_MAP, "default/a", "opaque")
    asking = asyncio.ensure_future(world.cache.at_least(CONFIG_MAP, "default/a", "99999999", seconds=3))
    await world.advance(4)
    assert not await asking


async def test_a_status_that_says_nothing_and_other_answers_are_passed_over(world: World) -> None:
    await world.followed()
    with pytest.raises(NotFound):
        await world.cache.client.delete(CONFIG_MAP, "nobody", "default")
    await world.cache.client.create(
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"nonResourceAttributes": {"path": "/healthz", "verb": "get"}},
        }
    )
    assert not world.cache.writes


async def test_a_client_of_the_cache_is_the_same_client_otherwise(world: World) -> None:
    seen: list[Call] = []

    def refuse(call: Call) -> Any:
        seen.append(call)

    world.faults.refuse = refuse
    await world.cache.client.create(config_map("a"))
    assert seen[-1].method == "POST"
    call = Call("GET", "/api/v1/configmaps", query=(("watch", "true"), ("timeoutSeconds", "1")))
    async with world.cache.client.transport.stream(call) as stream:
        assert (stream.answer.status, seen[-1]) == (200, call)


@pytest.mark.feature("E39")
async def test_a_query_shows_nothing_older_than_what_was_seen_already(world: World) -> None:
    informer = await world.followed()
    made = await world.client.create(config_map("a"))
    asked = asyncio.ensure_future(
        world.cache.query(CONFIG_MAP, "default", min_revision=made["metadata"]["resourceVersion"])
    )
    await world.until(asked.done)
    assert [held.meta.name for held in asked.result().entries()] == ["a"]
    future = str(int(informer.resource_version) + 1000)
    asked = asyncio.ensure_future(world.cache.query(CONFIG_MAP, "default", min_revision=future))
    await world.until(asked.done)
    with pytest.raises(NotSynced, match=f"but {future} is required"):
        await asked
