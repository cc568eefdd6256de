"""Conversion webhooks that are dead, slow, or not to be trusted: the documented outcome each, and nothing hangs."""

import asyncio
from base64 import b64encode

import pytest
from tests.server.conversion.widgets import NAME, Widgets, at, convert, created, new_widgets, reviewing, widget
from tests.server.outbound.peer import Asked, authority, response, saying, silence
from tests.server.write.api import DEFINITIONS

from setpoint.objects.tree import Object
from setpoint.server.outbound.service_resolver import ServiceResolver

FAILED = "conversion webhook for example.com/v2, Kind=Widget failed: "
NOBODY = {"url": "https://127.0.0.1:1/convert", "caBundle": b64encode(authority().pair.certificate).decode()}
REFUSED = 'Post "https://127.0.0.1:1/convert?timeout=30s": dial tcp 127.0.0.1:1: connect: connection refused'


async def test_a_dead_webhook_is_said_to_be_dead() -> None:
    async with new_widgets(webhook={"clientConfig": NOBODY}) as widgets:
        await created(widgets, "v2", replicas=1)
        for path in (at("v1", "w"), at("v1"), at("v1", "w", "scale")):
            answer = await widgets("GET", path)
            assert (answer.status, answer.body["message"]) == (500, FAILED + REFUSED)


async def test_everything_goes_on_in_the_stored_version_without_the_webhook(widgets: Widgets) -> None:
    await created(widgets, "v1", "w", size=1, colour="red")
    await widgets.change_definition("v2", strategy="Webhook", webhook=_dead())
    body = (await widgets("GET", at("v2", "w"))).body
    owners = body["metadata"]["managedFields"]
    assert [entry["apiVersion"] for entry in owners] == ["example.com/v1"]
    patched = await widgets.merge(at("v2", "w"), {"spec": {"replicas": 5}})
    assert (patched.status, patched.body["spec"]["replicas"]) == (200, 5)
    assert patched.body["metadata"]["managedFields"] == owners, "who owns what cannot be told, and stays as it was"
    assert (await widgets.merge(at("v2", "w", "status"), {"status": {"ready": 1}})).status == 200
    assert (await widgets.merge(at("v2", "w", "scale"), {"spec": {"replicas": 6}})).status == 200
    applied = await widgets.apply(at("v2", "w"), widget("v2", replicas=7), "fieldManager=x&force=true")
    assert applied.status == 500, "an apply has to know"
    await widgets.merge(at("v2", "w"), {"metadata": {"finalizers": ["example.com/wait"]}})
    assert "deletionTimestamp" in (await widgets("DELETE", at("v2", "w"))).body["metadata"]
    assert (await widgets("DELETE", at("v1", "w"))).status == 500
    gone = await widgets.merge(at("v2", "w"), {"metadata": {"finalizers": None}})
    assert gone.status == 200, gone.body
    assert (await widgets("GET", at("v2", "w"))).status == 404


def _dead() -> Object:
    return {"clientConfig": NOBODY, "conversionReviewVersions": ["v1"]}


async def test_a_definition_takes_its_objects_with_it_without_the_webhook() -> None:
    async with new_widgets(webhook={"clientConfig": NOBODY}) as widgets:
        for name in ("a", "b"):
            await created(widgets, "v2", name, replicas=1)
        assert (await widgets("DELETE", f"{DEFINITIONS}/{NAME}")).status == 200
        assert (await widgets("GET", f"{DEFINITIONS}/{NAME}")).status == 404
        assert await widgets.store.count("/example.com/widgets/") == 0


async def test_a_name_that_is_taken_is_said_to_be_without_the_webhook() -> None:
    async with new_widgets(webhook={"clientConfig": NOBODY}) as widgets:
        await created(widgets, "v2", replicas=1)
        answer = await widgets("POST", at("v2"), widget("v2", replicas=2))
        assert (answer.status, answer.body["reason"]) == (409, "AlreadyExists")


async def test_a_silent_webhook_has_thirty_seconds() -> None:
    async with new_widgets(behaviour=silence) as widgets:
        await created(widgets, "v2", replicas=1)
        asking = [asyncio.create_task(widgets(*request)) for request in _requests()]
        assert widgets.peer is not None
        await widgets.peer.was_asked.wait()
        for _ in range(4):
            # Whoever had waited for another's call asks once more for itself.
            await asyncio.sleep(0.01)
            widgets.clock.advance(31)
        for answer in await asyncio.wait_for(asyncio.gather(*asking), 5):
            assert answer.status == 500
            assert answer.body["message"].endswith(
                f'failed: Post "{widgets.peer.url}/convert?timeout=30s": context deadline exceeded'
            )
        assert (await widgets("GET", at("v2", "w"))).status == 200


def _requests() -> list[tuple[str, str] | tuple[str, str, Object]]:
    return [("GET", at("v1", "w")), ("GET", at("v1")), ("POST", at("v1"), widget("v1", "n", size=1))]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (response(b"boom", 500, "Content-Type: text/plain"), 'an error on the server ("boom") has prevented'),
        (response(b"", 404), "the server could not find the requested resource"),
        (response(b"", 307, "Location: https://127.0.0.1:1/x"), "the server responded with the status code 307"),
        (response(b"{}", length=100), "unexpected EOF"),
    ],
)
async def test_an_answer_that_is_none_is_quoted(answer: bytes, why: str) -> None:
    async with new_widgets(behaviour=saying(answer, closing=True)) as widgets:
        await created(widgets, "v2", replicas=1)
        found = await widgets("GET", at("v1", "w"))
        assert found.status == 500
        assert found.body["message"].startswith(FAILED)
        assert why in found.body["message"]


async def test_a_webhook_of_another_authority_is_not_asked(widgets: Widgets) -> None:
    assert widgets.peer is not None
    config = {
        "url": f"{widgets.peer.url}/convert",
        "caBundle": b64encode(authority(old=True).pair.certificate).decode(),
    }
    webhook = {"clientConfig": config, "conversionReviewVersions": ["v1"]}
    await widgets.change_definition("v2", strategy="Webhook", webhook=webhook)
    await created(widgets, "v2", replicas=1)
    answer = await widgets("GET", at("v1", "w"))
    assert "tls: failed to verify certificate: x509: " in answer.body["message"]
    assert widgets.calls == []


async def test_a_service_is_found_where_the_resolver_says_and_nowhere_else() -> None:
    resolver = ServiceResolver()
    async with new_widgets(resolver=resolver) as widgets:
        assert widgets.peer is not None
        config = {**widgets.webhook()["webhook"]["clientConfig"], "url": None}
        config["service"] = {"namespace": "default", "name": "localhost", "path": "/convert", "port": 443}
        webhook = {"clientConfig": config, "conversionReviewVersions": ["v1"]}
        await widgets.change_definition("v2", strategy="Webhook", webhook=webhook)
        await created(widgets, "v2", replicas=1)
        answer = await widgets("GET", at("v1", "w"))
        url = "https://localhost.default.svc:443/convert?timeout=30s"
        assert answer.body["message"] == f'{FAILED}Post "{url}": service "localhost" not found'
        resolver.put("default", "localhost", "127.0.0.1", widgets.peer.port)
        answer = await widgets("GET", at("v1", "w"))
        assert "x509" in answer.body["message"], "it was reached; its certificate is for another name"


async def test_failures_are_forgotten_at_once() -> None:
    broken = True

    def moody(tree: Object, from_version: str, to_version: str) -> Object:
        if broken:
            raise ValueError("not yet")
        return convert(tree, from_version, to_version)

    async with new_widgets(function=moody) as widgets:
        await created(widgets, "v2", replicas=1)
        assert (await widgets("GET", at("v1", "w"))).status == 500
        broken = False
        assert (await widgets("GET", at("v1", "w"))).body["spec"] == {"size": 1}


async def test_a_watch_ends_with_an_error_where_an_event_cannot_be_shown() -> None:
    def fragile(tree: Object, from_version: str, to_version: str) -> Object:
        if (tree.get("spec") or {}).get("replicas") == 13:
            raise ValueError("unlucky")
        return convert(tree, from_version, to_version)

    async with new_widgets(behaviour=reviewing(fragile)) as widgets:
        since = f"resourceVersion={(await created(widgets, 'v2', replicas=1)).version}"
        selecting = f"{since}&fieldSelector=spec.size!=99"
        async with (
            widgets.watch("v1", since) as whole,
            widgets.watch("v1", selecting) as selected,
            widgets.watch("v2", since) as other,
        ):
            for number in (2, 13, 3):
                await widgets.merge(at("v2", "w"), {"spec": {"replicas": number}})
            for watching in (whole, selected):
                assert (await watching.next())[1]["spec"] == {"size": 2}
                kind, status = await watching.next()
                assert (kind, status["code"], status["reason"]) == ("ERROR", 500, "InternalError")
                assert status["message"] == f"{FAILED}ValueError: unlucky"
                await asyncio.wait_for(asyncio.shield(watching.task), 5)
            assert [(await other.next())[1]["spec"]["replicas"] for _ in range(3)] == [2, 13, 3]
        async with widgets.watch("v1", f"resourceVersion={(await widgets('GET', at('v2', 'w'))).version}") as again:
            await widgets.merge(at("v2", "w"), {"spec": {"replicas": 4}})
            assert (await again.next())[1]["spec"] == {"size": 4}


async def test_a_watch_waits_for_a_slow_webhook_and_keeps_the_order() -> None:
    honest = reviewing(convert)
    turns = iter((0.02, 0.0, 0.01, 0.0, 0.0, 0.0))

    async def slow(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(next(turns, 0.0))
        await honest(asked, writer)

    async with new_widgets(behaviour=slow) as widgets:
        since = (await created(widgets, "v2", replicas=0)).version
        async with widgets.watch("v1", f"resourceVersion={since}") as watching:
            for number in range(1, 6):
                await widgets.merge(at("v2", "w"), {"spec": {"replicas": number}})
                await asyncio.sleep(0.002)
            assert [(await watching.next())[1]["spec"]["size"] for _ in range(5)] == [1, 2, 3, 4, 5]


async def test_closing_the_server_ends_the_calls_that_are_under_way() -> None:
    async with new_widgets(behaviour=silence) as widgets:
        await created(widgets, "v2", replicas=1)
        asking = asyncio.create_task(widgets("GET", at("v1", "w")))
        assert widgets.peer is not None
        await widgets.peer.was_asked.wait()
        widgets.server.services.close()
        assert (await asyncio.wait_for(asking, 5)).status == 500
