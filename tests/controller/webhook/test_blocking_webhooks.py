"""`def` webhooks run in threads, so that a slow one does not keep others waiting; `async def` ones run in the loop."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime

import pytest
from tests.controller.manager.worlds import running, until
from tests.controller.webhook.kinds import OldSite, Site, conversion, site

from setpoint.client.client import Client
from setpoint.controller.manager import Manager
from setpoint.controller.webhook import AdmissionWebhook, WebhookServer, default, in_process, validate
from setpoint.controller.webhook.conversion import ConversionWebhook
from setpoint.objects.clock import ManualClock
from setpoint.objects.errors import APIError
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.schema.types import crd_of

Asking = Callable[[list[AdmissionWebhook]], AbstractAsyncContextManager[Client]]


@asynccontextmanager
async def within(webhooks: list[AdmissionWebhook]) -> AsyncIterator[Client]:
    """A server that calls the functions in its process."""
    async with ControlPlane(system=False, admission=in_process(webhooks)) as plane, plane.client() as client:
        await client.create(Site.crd())
        yield client


@asynccontextmanager
async def over_https(webhooks: list[AdmissionWebhook]) -> AsyncIterator[Client]:
    """A server that calls the functions over HTTPS."""
    async with ControlPlane(system=False) as plane, plane.client() as client:
        await client.create(Site.crd())
        server = WebhookServer(client, webhooks, name="sites", address="127.0.0.1:0")
        async with running(Manager(client, webhooks=server, health="127.0.0.1:0")) as task:
            await until(lambda: server.is_serving or task.done())
            async with asyncio.timeout(5):
                while not (await client.list("admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration")).items:
                    await asyncio.sleep(0.01)
            yield client


def is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


@pytest.mark.parametrize("asking", [within, over_https], ids=["in process", "over HTTPS"])
async def test_a_slow_def_webhook_keeps_no_other_request_waiting(asking: Asking) -> None:
    begun, go, at = threading.Event(), threading.Event(), []

    @validate(Site)
    def slow(found: Site) -> None:
        at.append(is_main())
        begun.set()
        go.wait(60)
        if found.spec.size == 2:
            raise ValueError("2 is unlucky")

    @default(Site)
    async def quick(found: Site) -> None:
        at.append(is_main())
        found.spec.color = "red"

    async with asking([slow, quick]) as client:
        created = [asyncio.ensure_future(client.create(site(name, size=size))) for name, size in (("a", 1), ("b", 2))]
        await until(begun.is_set)
        await client.list("v1/Namespace")  # the server, and the webhooks in the same loop, go on
        assert not any(each.done() for each in created)
        go.set()
        assert (await created[0])["spec"] == {"size": 1, "color": "red"}
        with pytest.raises(APIError, match="2 is unlucky"):
            await created[1]
    assert sorted(at) == [False, False, True, True]


async def test_in_virtual_time_a_def_webhook_runs_in_the_loop() -> None:
    at = []

    @validate(Site)
    def seen(found: Site) -> None:
        at.append(is_main())

    clock = ManualClock(datetime(2030, 1, 1, tzinfo=UTC))
    async with ControlPlane(system=False, clock=clock, admission=in_process([seen])) as plane:
        client = plane.client()
        await client.create(Site.crd())
        await client.create(site("a"))
    assert at == [True]


async def test_a_user_has_one_thread_at_a_time_for_def_webhooks_in_process() -> None:
    running: dict[str, int] = {}
    most: dict[str, int] = {}
    lock, go = threading.Lock(), threading.Event()

    @validate(Site)
    def slow(found: Site) -> None:
        user = found.spec.color
        with lock:
            running[user] = running.get(user, 0) + 1
            most[user] = max(most.get(user, 0), running[user])
        go.wait(60)
        with lock:
            running[user] -= 1

    async with ControlPlane(system=False, admission=in_process([slow])) as plane:
        admin = plane.client()
        await admin.create(Site.crd())
        users = ("ada", "grace", "joan")
        clients = {user: plane.client(user=user, groups=["system:masters"]) for user in users}
        created = [
            asyncio.ensure_future(clients[user].create(site(f"{user}-{number}", color=user)))
            for number in range(12)
            for user in users
        ]
        await until(lambda: sorted(running) == sorted(users))
        go.set()  # one user with many writes keeps no other user waiting
        await asyncio.gather(*created)
    assert most == dict.fromkeys(users, 1)
    assert len(created) == 36


async def test_a_def_webhook_may_cause_another_call_of_one() -> None:
    """The outer function holds the thread of its user, and the inner one must not wait for that thread."""
    loop = asyncio.get_running_loop()
    seen = []

    @validate(Site)
    def nested(found: Site) -> None:
        seen.append(found.metadata.name)
        if found.spec.size:
            child = site(f"{found.metadata.name}-child", size=found.spec.size - 1)
            asyncio.run_coroutine_threadsafe(client.create(child), loop).result(60)

    async with within([nested]) as client:
        await client.create(site("a", size=2))
        assert sorted(seen) == ["a", "a-child", "a-child-child"]


async def test_a_def_webhook_that_returns_a_coroutine_is_told_to_be_async() -> None:
    async def later() -> None: ...

    @validate(Site)
    def wrong(found: Site) -> object:
        coroutine = later()
        coroutine.close()
        return coroutine

    async with within([wrong]) as client:
        with pytest.raises(APIError, match="returned an awaitable: use `async def`"):
            await client.create(site("a"))


async def test_conversions_over_https_run_in_threads() -> None:
    at = []

    def noted(tree: Object, from_version: str, to_version: str) -> Object:
        at.append(is_main())
        return conversion.function(tree, from_version, to_version)

    async with ControlPlane(system=False) as plane, plane.client() as client:
        crd = await client.create(crd_of(Site, OldSite))
        webhook = ConversionWebhook(conversion.crd, noted, conversion.versions)
        server = WebhookServer(client, conversions=[webhook], address="127.0.0.1:0")
        async with running(Manager(client, webhooks=server)):
            async with asyncio.timeout(10):
                while crd["spec"].get("conversion", {}).get("strategy") != "Webhook":
                    crd = await client.get("apiextensions.k8s.io/v1/CustomResourceDefinition", conversion.crd)
                    await asyncio.sleep(0.01)
            await client.create(site("a", size=3))
            old = await client.get("example.com/v1beta1/Site", "a", "default")
            assert old["spec"]["dimensions"] == "3"
    assert at
    assert not any(at)
