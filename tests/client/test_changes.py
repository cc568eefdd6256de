"""What the client does beyond single requests: edits, waiting, pages, status, scale, differences, causes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from setpoint.client import patches
from setpoint.client.client import Client
from setpoint.client.http.endpoint import endpoint
from setpoint.client.http.transport import HttpTransport
from setpoint.client.kinds import metadata_only
from setpoint.client.limit import RateLimit
from setpoint.client.transport import Answer, Call, Stream, TransportError
from setpoint.client.wait import read_until
from setpoint.config.settings import Authentication, Config
from setpoint.objects.clock import ManualClock
from setpoint.objects.errors import ApplyConflict, Conflict, Expired, NotFound, TooManyRequests
from setpoint.objects.provenance import Cause
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.schema.types import Model, ObjectMeta, Resource

START = datetime(2026, 1, 1, tzinfo=UTC)


class GadgetSpec(Model):
    """What a gadget should be."""

    replicas: int = 1


class GadgetStatus(Model):
    """What a gadget is."""

    phase: str = ""


class Gadget(Resource, group="example.com", version="v1"):
    """A gadget."""

    spec: GadgetSpec
    status: GadgetStatus | None = None


def config_map(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


class Watched:
    """A transport that notes what goes over it, and can be told to meddle."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.calls: list[Call] = []
        self.before: Callable[[Call], Answer | None] = lambda call: None

    async def send(self, call: Call) -> Answer:
        self.calls.append(call)
        return self.before(call) or await self._inner.send(call)

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[Stream]:
        self.calls.append(call)
        if (answer := self.before(call)) is not None:
            raise TransportError(f"cut with {answer.status}", sent=True)
        async with self._inner.stream(call) as stream:
            yield stream

    async def close(self) -> None:
        await self._inner.close()

    def methods(self) -> list[str]:
        return [call.method for call in self.calls]


@asynccontextmanager
async def world(clock: ManualClock | None = None) -> AsyncIterator[tuple[Client, Watched]]:
    async with ControlPlane() as plane:
        inner = plane.client()
        watched = Watched(inner.transport)
        async with Client(watched, clock=clock) as client:
            await client.list("v1/ConfigMap", "default")
            watched.calls.clear()
            yield client, watched


async def run(clock: ManualClock, work: Any) -> Any:
    """Lets time pass as fast as the work allows."""
    task = asyncio.ensure_future(work)
    while not task.done():
        for _ in range(50):
            await asyncio.sleep(0)
        if not task.done() and (deadline := clock.next_deadline()) is not None:
            clock.advance(max(deadline - clock.monotonic(), 0))
    return task.result()


@pytest.mark.feature("E51")
async def test_an_edit_reads_changes_and_writes() -> None:
    async with world() as (client, watched):
        await client.create(config_map("a", k="1"))
        watched.calls.clear()

        def change(tree: Object) -> None:
            tree["data"]["k"] = "2"

        edited = await client.edit("v1/ConfigMap", "a", "default", change)
        assert edited["data"] == {"k": "2"}
        assert watched.methods() == ["GET", "PUT"]


async def test_an_edit_that_changes_nothing_sends_nothing() -> None:
    async with world() as (client, watched):
        await client.create(config_map("a", k="1"))
        watched.calls.clear()
        await client.edit("v1/ConfigMap", "a", "default", lambda tree: tree["data"].update(k="1"))
        assert watched.methods() == ["GET"]


@pytest.mark.feature("E51")
async def test_an_edit_begins_anew_when_somebody_else_was_faster() -> None:
    clock = ManualClock(START)
    async with world(clock) as (client, _):
        await client.create(config_map("a", n="0"))
        tries = 0

        def change(tree: Object) -> Object:
            nonlocal tries
            tries += 1
            version = "1" if tries < 3 else tree["metadata"]["resourceVersion"]
            return {**tree, "metadata": {**tree["metadata"], "resourceVersion": version}, "data": {"n": str(tries)}}

        edited = await run(clock, client.edit("v1/ConfigMap", "a", "default", change))
        assert edited["data"] == {"n": "3"}
        assert clock.monotonic() == pytest.approx(0.02)


async def test_an_edit_gives_up_after_five_conflicts_and_at_once_where_it_may_not() -> None:
    clock = ManualClock(START)
    async with world(clock) as (client, watched):
        await client.create(config_map("a"))
        watched.calls.clear()

        def change(tree: Object) -> None:
            tree["metadata"]["resourceVersion"] = "1"

        with pytest.raises(Conflict):
            await run(clock, client.edit("v1/ConfigMap", "a", "default", change))
        assert watched.methods() == ["GET", "PUT"] * 5
        with pytest.raises(NotFound):
            await client.edit("v1/ConfigMap", "nobody", "default", change)
        with pytest.raises(ValueError, match="metadata-only"):
            await client.edit(metadata_only("v1/ConfigMap"), "a", "default", change)


async def test_status_is_written_apart_from_the_rest() -> None:
    async with world() as (client, _):
        await client.create(Gadget.crd())
        made = await client.create(Gadget(metadata=ObjectMeta(name="g", namespace="default"), spec=GadgetSpec()))
        made.spec.replicas = 9
        made.status = GadgetStatus(phase="one")
        written = await client.update_status(made)
        assert (written.spec.replicas, written.status and written.status.phase) == (1, "one")
        patched = await client.patch_status(Gadget, patches.merge({"status": {"phase": "two"}}), "g", "default")
        assert patched.status.phase == "two"
        configuration = Gadget(
            metadata=ObjectMeta(name="g", namespace="default"), spec=GadgetSpec(), status=GadgetStatus(phase="three")
        )
        applied = await client.apply_status(configuration, field_manager="me", force=True)
        assert applied.status is not None
        assert applied.status.phase == "three"


@pytest.mark.feature("E42")
async def test_what_can_be_scaled_is() -> None:
    async with world() as (client, _):
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        await client.create(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "d", "namespace": "default"},
                "spec": spec,
            }
        )
        assert (await client.scale("apps/v1/Deployment", "d", "default"))["spec"] == {"replicas": 1}
        assert (await client.scale("apps/v1/Deployment", "d", "default", 3))["spec"] == {"replicas": 3}
        found = await client.get("apps/v1/Deployment", "d", "default")
        assert found["spec"]["replicas"] == 3


@pytest.mark.feature("E42")
async def test_a_service_account_is_given_a_token_and_a_pod_is_evicted_and_bound() -> None:
    async with world() as (client, _):
        account: Object = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "s", "namespace": "default"},
        }
        await client.create(account)
        issued = await client.token("s", "default", audiences=["x"], expiration_seconds=3600)
        assert issued["status"]["token"].count(".") == 2
        spec = {"containers": [{"name": "c", "image": "i"}], "serviceAccountName": "s"}
        await client.create(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": spec}
        )
        await client.bind("p", "default", node="n")
        assert (await client.get("v1/Pod", "p", "default"))["spec"]["nodeName"] == "n"
        assert (await client.evict("p", "default", grace_period=0, dry_run=True))["status"] == "Success"
        assert await client.get("v1/Pod", "p", "default")
        await client.evict("p", "default", grace_period=0)
        with pytest.raises(NotFound):
            await client.get("v1/Pod", "p", "default")


async def test_pages_come_one_by_one_and_each_object_once() -> None:
    async with world() as (client, _):
        for number in range(7):
            await client.create(config_map(f"m{number}"))
        pages = [page async for page in client.pages("v1/ConfigMap", "default", limit=3)]
        assert [len(page.items) for page in pages][:2] == [3, 3]
        names = [item["metadata"]["name"] async for item in client.each("v1/ConfigMap", "default", limit=3)]
        assert [name for name in names if name.startswith("m")] == [f"m{number}" for number in range(7)]


def _expires(call: Call) -> Answer | None:
    if any(name == "continue" for name, _ in call.query):
        return Answer(410, {}, b'{"kind":"Status","reason":"Expired","message":"too old","code":410}')
    return None


async def test_pages_that_take_too_long_are_followed_by_all_the_rest() -> None:
    async with world() as (client, watched):
        for number in range(7):
            await client.create(config_map(f"m{number}"))
        watched.before = _expires
        names = [item["metadata"]["name"] async for item in client.each("v1/ConfigMap", "default", limit=3)]
        assert sorted(name for name in names if name.startswith("m")) == [f"m{number}" for number in range(7)]
        assert len(names) == len(set(names))
        with pytest.raises(Expired):
            await client.list("v1/ConfigMap", "default", limit=3, continue_="x")


async def test_a_list_whose_pages_expire_is_read_anew_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("setpoint.client.read_verbs.PAGE", 2)
    async with world() as (client, watched):
        for number in range(5):
            await client.create(config_map(f"m{number}"))
        watched.calls.clear()
        watched.before = _expires
        found = await client.list("v1/ConfigMap", "default")
        assert len({item["metadata"]["name"] for item in found.items}) == len(found.items) >= 5
        assert dict(watched.calls[-1].query).get("limit") is None


UNTIL: dict[str, Object] = {
    "condition=Ready": {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
    "condition=ready=false": {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
    "jsonpath={.status.phase}=Running": {"status": {"phase": "Running"}},
    "jsonpath={.status.podIP}": {"status": {"podIP": "10.0.0.1"}},
}


@pytest.mark.parametrize("until", UNTIL)
async def test_an_object_is_waited_for_until_it_is_as_wanted(until: str) -> None:
    async with world() as (client, _):
        spec = {"containers": [{"name": "c", "image": "i"}]}
        metadata = {"name": "p", "namespace": "default"}
        waiting = asyncio.ensure_future(client.wait_for("v1/Pod", "p", "default", until, timeout=30))
        await client.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        for _ in range(100):
            await asyncio.sleep(0)
        assert not waiting.done()
        await client.patch_status("v1/Pod", patches.merge(UNTIL[until]), "p", "default")
        found = await waiting
        assert found is not None
        assert found["metadata"]["name"] == "p"


async def test_creation_deletion_and_anything_else_are_waited_for() -> None:
    async with world() as (client, watched):
        coming = asyncio.ensure_future(client.wait_for("v1/ConfigMap", "a", "default", timeout=30))
        await asyncio.sleep(0.01)
        await client.create(config_map("a", k="1"))
        assert await coming
        at_two = asyncio.ensure_future(
            client.wait_for("v1/ConfigMap", "a", "default", lambda obj: obj["data"]["k"] == "2", timeout=30)
        )
        going = asyncio.ensure_future(client.wait_for("v1/ConfigMap", "a", "default", "delete", timeout=30))
        await client.edit("v1/ConfigMap", "a", "default", lambda tree: tree["data"].update(k="2"))
        assert (await at_two or {})["data"] == {"k": "2"}
        await client.delete("v1/ConfigMap", "a", "default")
        assert await going is None
        assert not watched._inner._open, "no watch is left behind"


async def test_waiting_goes_on_whatever_becomes_of_the_watch_and_has_an_end() -> None:
    clock = ManualClock(START)
    async with world(clock) as (client, watched):
        cuts = 0
        all_cut = asyncio.Event()

        def cut(call: Call) -> Answer | None:
            nonlocal cuts
            if not dict(call.query).get("watch"):
                return None
            cuts += 1
            if cuts > 4:
                all_cut.set()
                return None
            return Answer(500)

        watched.before = cut
        waiting = asyncio.ensure_future(
            run(clock, client.wait_for("v1/ConfigMap", "a", "default", "create", timeout=60))
        )
        await all_cut.wait()
        await client.create(config_map("a"))
        assert await waiting
        with pytest.raises(TimeoutError, match=r"v1/ConfigMap default/b was not create within 5 s"):
            await run(clock, client.wait_for("v1/ConfigMap", "b", "default", timeout=5))
        with pytest.raises(ValueError, match="invalid condition"):
            await client.wait_for("v1/ConfigMap", "b", "default", "readiness")


def test_a_condition_of_an_older_generation_does_not_count() -> None:
    ready = read_until("condition=Ready")
    condition = {"type": "Ready", "status": "True", "observedGeneration": 1}
    assert not ready({"metadata": {"generation": 2}, "status": {"conditions": [condition]}})
    assert ready({"metadata": {"generation": 1}, "status": {"conditions": [condition]}})
    assert not ready({"metadata": {}})
    assert not ready(None)


async def test_a_difference_is_what_the_server_would_change() -> None:
    async with world() as (client, _):
        new = await client.diff(config_map("a", k="1"), field_manager="me")
        assert new.before is None
        assert new.after["data"] == {"k": "1"}
        await client.apply(config_map("a", k="1"), field_manager="me")
        assert not await client.diff(config_map("a", k="1"), field_manager="me")
        changed = await client.diff(config_map("a", k="2"), field_manager="me")
        assert changed.patch == [{"op": "replace", "path": "/data/k", "value": "2"}]
        assert (await client.get("v1/ConfigMap", "a", "default"))["data"] == {"k": "1"}
        with pytest.raises(ApplyConflict):
            await client.diff(config_map("a", k="2"), field_manager="another")


async def test_a_strategic_patch_leaves_other_items_of_a_list_alone() -> None:
    async with world() as (client, _):
        containers = [{"name": "a", "image": "1"}]
        deployment: Object = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "d", "namespace": "default"},
            "spec": {
                "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}},
            },
        }
        made = await client.create(deployment)
        before = {**made, "spec": {"template": {"spec": {"containers": [{"name": "a", "image": "1"}]}}}}
        after = {**made, "spec": {"template": {"spec": {"containers": [{"name": "b", "image": "2"}]}}}}
        added = patches.strategic_patch({**made, "spec": {"template": {"spec": {"containers": []}}}}, after)
        done = await client.patch(made, added)
        assert {each["name"] for each in done["spec"]["template"]["spec"]["containers"]} == {"a", "b"}
        assert patches.strategic_patch(before, before).is_empty
        stale = patches.strategic_patch(made, {**made, "spec": {**made["spec"], "paused": True}}, optimistic_lock=True)
        with pytest.raises(Conflict):
            await client.patch(made, stale)
    gadget: Object = {"apiVersion": "example.com/v1", "kind": "Gadget"}
    with pytest.raises(ValueError, match="Gadget is not a built-in kind"):
        patches.strategic_patch(gadget, gadget)


async def test_metadata_alone_is_patched_and_deleted_and_never_written_whole() -> None:
    async with world() as (client, _):
        await client.create(config_map("a", k="1"))
        kind = metadata_only("v1/ConfigMap")
        part = await client.patch(kind, patches.merge({"metadata": {"labels": {"x": "y"}}}), "a", "default")
        assert part["kind"] == "PartialObjectMetadata"
        for verb in (client.create, client.update):
            with pytest.raises(ValueError, match="cannot write a metadata-only object"):
                await verb(part)
        await client.delete(kind, "a", "default")


async def test_a_write_says_which_reconcile_it_comes_from_and_the_history_tells() -> None:
    async with ControlPlane() as plane, plane.client() as client:
        cause = Cause.reconcile("web sites/größe", "default/a", "7f")
        await client.with_options(cause=cause).create(config_map("a", k="1"))
        await client.edit("v1/ConfigMap", "a", "default", lambda tree: tree["data"].update(k="2"))
        path = "/apis/setpoint.dev/v1/namespaces/default/configmaps/a/history"
        second, first = msgspec.json.decode((await client.raw("GET", path)).body)["items"]
        told = {"id": "7f", "controller": "web sites/größe", "key": "default/a", "verified": True}
        assert first["cause"] == told
        assert "controller" not in second["cause"]


@pytest.mark.parametrize("header", ["x", "a/b/", "a/%0a/c", "a/b/" + "c" * 2000])
async def test_a_cause_that_is_none_is_passed_over_with_a_warning(header: str) -> None:
    async with ControlPlane() as plane, plane.client() as client:
        heard: list[str] = []
        client.on_warning = heard.append
        path = "/api/v1/namespaces/default/configmaps"
        body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}'
        headers = {"content-type": "application/json", "setpoint-cause": header}
        assert (await client.raw("POST", path, headers=headers, body=body)).status == 201
        assert len(heard) == 1
        assert heard[0].startswith("the header Setpoint-Cause was ignored: it ")


@pytest.mark.feature("E46")
async def test_the_rate_of_requests_can_be_limited_and_they_are_counted() -> None:
    told: list[tuple[str, ...]] = []

    class Counts:
        def requested(self, method: str, host: str, code: str, seconds: float) -> None:
            told.append(("requested", method, host, code))

        def retried(self, method: str, host: str, code: str) -> None:
            told.append(("retried", method, host, code))

        def limited(self, method: str, host: str, seconds: float) -> None:
            told.append(("limited", method, f"{seconds:.1f}"))

    clock = ManualClock(START)
    async with world(clock) as (client, watched):
        client.rate_limit, client.observer = RateLimit(clock, 2, 2), Counts()
        for _ in range(4):
            await run(clock, client.list("v1/ConfigMap", "default"))
        assert clock.monotonic() == pytest.approx(1.0)
        assert told.count(("requested", "GET", "in process", "200")) == 4
        assert told.count(("limited", "GET", "0.5")) == 2
        client.rate_limit = None
        told.clear()
        busy = iter([Answer(429, {"retry-after": "3"})])
        watched.before = lambda call: next(busy, None)
        await run(clock, client.list("v1/ConfigMap", "default"))
        assert told == [
            ("requested", "GET", "in process", "429"),
            ("retried", "GET", "in process", "429"),
            ("requested", "GET", "in process", "200"),
        ]
    with pytest.raises(ValueError, match="a rate limit needs qps"):
        RateLimit(clock, 0, 1)


@pytest.mark.feature("E46")
async def test_patience_with_a_busy_server_has_an_end() -> None:
    clock = ManualClock(START)
    async with world(clock) as (client, watched):
        watched.before = lambda call: Answer(429, {"retry-after": "1"})
        watched.calls.clear()
        with pytest.raises(TooManyRequests):
            await run(clock, client.get("v1/ConfigMap", "a", "default"))
        assert len(watched.calls) == 11
        assert clock.monotonic() == pytest.approx(10)


async def test_a_watch_of_which_nothing_is_heard_ends_with_an_error() -> None:
    clock = ManualClock(START)
    async with world(clock) as (client, _):
        async with client.watch("v1/ConfigMap", "default", stall=60, bookmarks=False) as events:
            clock.advance(59)
            await client.create(config_map("a"))
            assert (await anext(events)).type == "ADDED"
            clock.advance(59)
            await asyncio.sleep(0)
            waiting = asyncio.ensure_future(anext(events))
            await asyncio.sleep(0.01)
            assert not waiting.done()
            clock.advance(2)
            with pytest.raises(TransportError, match="the watch stalled: no data for 60 s"):
                await waiting
        assert clock.next_deadline() is None


async def test_whoever_is_not_known_cannot_say_a_cause() -> None:
    config = Config(authentication=Authentication(anonymous="always"))
    async with ControlPlane(config=config) as plane, plane.client() as admin:
        subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "system:anonymous"}
        role = {"kind": "ClusterRole", "apiGroup": "rbac.authorization.k8s.io", "name": "cluster-admin"}
        metadata = {"name": "anybody"}
        binding: Object = {"metadata": metadata, "subjects": [subject], "roleRef": role}
        await admin.create({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", **binding})
        async with Client(HttpTransport(endpoint(await plane.listen(tls=False)))) as stranger:
            await stranger.with_options(cause=Cause.reconcile("c", "k", "i")).create(config_map("a"))
        path = "/apis/setpoint.dev/v1/namespaces/default/configmaps/a/history"
        (item,) = msgspec.json.decode((await admin.raw("GET", path)).body)["items"]
        assert item["actor"]["user"] == "system:anonymous"
        assert "controller" not in item["cause"]


@asynccontextmanager
async def gadgets() -> AsyncIterator[Client]:
    async with ControlPlane() as plane, plane.client() as client:
        await client.install(Gadget)
        yield client


async def test_an_object_is_created_updated_or_left_as_it_is() -> None:
    calls: list[bool] = []

    def sized(gadget: Gadget, is_new: bool) -> None:
        calls.append(is_new)
        gadget.spec.replicas = 3

    def paused(gadget: Gadget, is_new: bool) -> None:
        gadget.spec.replicas = 0

    async with gadgets() as client:
        made = await client.create_or_update(Gadget, "a", "default", sized)
        same = await client.create_or_update(Gadget, "a", "default", sized)
        changed = await client.create_or_update(Gadget, "a", "default", paused)
        assert [each.effect for each in (made, same, changed)] == ["created", "unchanged", "updated"]
        assert calls == [True, False]
        assert made.object.metadata.resource_version == same.object.metadata.resource_version
        assert (await client.get("example.com/v1/Gadget", "a", "default"))["spec"] == {"replicas": 0}


async def test_a_tree_is_created_or_updated_without_a_class() -> None:
    def fill(tree: Object, is_new: bool) -> None:
        tree.setdefault("data", {})["new" if is_new else "old"] = "x"

    async with gadgets() as client:
        found = [await client.create_or_update("v1/ConfigMap", "a", "default", fill) for _ in range(3)]
        assert [each.effect for each in found] == ["created", "updated", "unchanged"]
        assert found[2].object["data"] == {"new": "x", "old": "x"}


async def test_create_or_update_begins_again_if_another_client_is_faster() -> None:
    async with gadgets() as client:
        rivals: list[Callable[[], Any]] = [
            lambda: client.create(config_map("a", theirs="1")),
            lambda: client.patch("v1/ConfigMap", patches.merge({"data": {"theirs": "2"}}), "a", "default"),
        ]
        news: list[bool] = []
        get = client.get

        async def slow_get(*arguments: Any, **how: Any) -> Any:
            try:
                return await get(*arguments, **how)
            finally:
                if rivals:
                    await rivals.pop(0)()

        client.get = slow_get  # type: ignore[method-assign]

        def fill(tree: Object, is_new: bool) -> None:
            news.append(is_new)
            tree.setdefault("data", {})["mine"] = "x"

        found = await client.create_or_update("v1/ConfigMap", "a", "default", fill)
        assert (news, found.effect, found.object["data"]) == (
            [True, False, False],
            "updated",
            {"mine": "x", "theirs": "2"},
        )


@pytest.mark.parametrize(
    ("mutate", "message"),
    [
        (lambda tree, _: tree.setdefault("data", {}), "mutate returned a value"),
        (lambda tree, _: tree["metadata"].update(name="b"), "mutate changed the name or namespace of ConfigMap a"),
    ],
)
async def test_a_wrong_function_for_create_or_update_is_named(mutate: Any, message: str) -> None:
    async with gadgets() as client:
        with pytest.raises(TypeError, match=message):
            await client.create_or_update("v1/ConfigMap", "a", "default", mutate)
        with pytest.raises(NotFound):
            await client.get("v1/ConfigMap", "a", "default")


async def test_an_edit_by_a_function_that_returns_another_value_is_refused() -> None:
    async with gadgets() as client:
        await client.create(config_map("a", x="1"))
        with pytest.raises(TypeError, match="returned a str: change the object in place and return None"):
            await client.edit("v1/ConfigMap", "a", "default", lambda tree: tree["data"].pop("x"))
        assert (await client.get("v1/ConfigMap", "a", "default"))["data"] == {"x": "1"}


class StrictSpec(Model):
    """A part with a field that has no default."""

    size: int


class Strict(Resource, group="example.com", version="v1"):
    """A kind that cannot begin empty."""

    spec: StrictSpec


async def test_a_class_that_cannot_begin_empty_is_named_with_the_remedy() -> None:
    async with gadgets() as client:
        await client.install(Strict)
        with pytest.raises(TypeError, match=r'cannot begin a new Strict: .*"example.com/v1/Strict", to work on a tree'):
            await client.create_or_update(Strict, "a", "default", lambda obj, is_new: None)
