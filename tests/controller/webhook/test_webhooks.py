"""Webhooks: the same decisions in process and over HTTPS, conversions, certificates that are kept, and bad requests."""

import asyncio
import ssl
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.controller.manager.worlds import fetch, running, until
from tests.controller.webhook.kinds import OldSite, Site, SiteSpec, checked, conversion, filled, no_secrets, site

from setpoint.client.client import Client
from setpoint.client.http.endpoint import endpoint
from setpoint.client.http.transport import HttpTransport
from setpoint.client.transport import Answer, Call
from setpoint.controller.manager import Manager
from setpoint.controller.webhook import WebhookServer, convert, default, in_process, validate
from setpoint.controller.webhook.certificates import OwnCertificates
from setpoint.controller.webhook.conversion import ConversionWebhook
from setpoint.objects.clock import ManualClock
from setpoint.objects.errors import APIError
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.schema.types import crd_of
from setpoint.server.edge.certificates import Authority
from setpoint.server.edge.tls import Certificates

SITE = "example.com/v1/Site"


@asynccontextmanager
async def asked_in_process() -> AsyncIterator[Client]:
    functions = in_process([checked, filled, no_secrets])
    async with ControlPlane(system=False, admission=functions) as plane, plane.client() as client:
        await client.create(Site.crd())
        yield client


@asynccontextmanager
async def asked_over_https() -> AsyncIterator[Client]:
    async with ControlPlane(system=False) as plane, plane.client() as client:
        await client.create(Site.crd())
        server = WebhookServer(client, [checked, filled, no_secrets], name="sites", address="127.0.0.1:0")
        async with running(Manager(client, webhooks=server)):
            await until(lambda: server.is_serving)
            await _until_installed(client)
            yield client


async def _until_installed(client: Client) -> None:
    async with asyncio.timeout(5):
        while not (await client.list("admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration")).items:
            await asyncio.sleep(0.01)


@pytest.fixture(params=[asked_in_process, asked_over_https], ids=["in process", "over HTTPS"])
async def client(request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    """Provides a client of a server whose functions are asked in either way."""
    async with request.param() as client:
        yield client


@pytest.mark.feature("E83")
async def test_a_function_completes_what_is_written_and_leaves_the_rest(client: Client) -> None:
    made = await client.create(site("a", size=2))
    assert made["spec"] == {"size": 2, "color": "red"}
    assert made["metadata"]["labels"] == {"a": "b"}
    made = await client.create(site("b", size=2, color="blue"))
    assert made["spec"]["color"] == "blue"


@pytest.mark.feature("E83")
@pytest.mark.parametrize(
    ("size", "code", "reason", "message"),
    [
        (11, 422, "TooLarge", "at most 10"),
        (7, 403, "Forbidden", "7 is unlucky"),
        (9, 409, "Conflict", "9 is taken"),
        (8, 500, "InternalError", "KeyError: 'a mistake'"),
    ],
)
async def test_what_a_function_raises_refuses_the_write(
    client: Client, size: int, code: int, reason: str, message: str
) -> None:
    with pytest.raises(APIError, match=message) as refused:
        await client.create(site("a", size=size))
    status = refused.value.to_status()
    assert (status["code"], status["reason"]) == (code, reason)
    assert 'admission webhook "validate.site.example.com" denied the request' in status["message"]


async def test_a_function_sees_what_was_and_who_asks_and_is_asked_about_deletions(client: Client) -> None:
    made = await client.create(site("a", size=5, color="red"))
    made["spec"]["size"] = 4
    with pytest.raises(APIError, match="may not shrink it"):
        await client.update(made)
    with pytest.raises(APIError, match="5 stays"):
        await client.delete(SITE, "a", "default")
    made["spec"]["size"] = 6
    await client.update(made)
    await client.delete(SITE, "a", "default")


async def test_what_a_function_returns_is_a_warning(client: Client) -> None:
    heard: list[str] = []
    client.on_warning = heard.append
    await client.create(site("a", size=4))
    assert heard == []
    await client.create(site("b", size=5))
    assert heard == ["it is large"]


async def test_kinds_without_a_class_are_trees(client: Client) -> None:
    tree: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
    await client.create(tree)
    tree = {**tree, "metadata": {"name": "b", "namespace": "default"}, "data": {"password": "x"}}
    with pytest.raises(APIError, match="no passwords here"):
        await client.create(tree)


def test_paths_and_names_are_those_of_controller_runtime() -> None:
    assert checked.path == "/validate-example-com-v1-site"
    assert filled.path == "/mutate-example-com-v1-site"
    assert no_secrets.path == "/validate--v1-configmap"
    assert checked(Site(spec=SiteSpec(size=1)), _Asked()) == []


class _Asked:
    operation = "CREATE"


def test_a_function_that_takes_nothing_is_refused() -> None:
    with pytest.raises(TypeError, match=r"\(object\) or \(object, question\)"):
        default(Site)(lambda: None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"\(object\) or \(object, question\)"):
        validate(Site)(lambda a, b, c: None)  # type: ignore[arg-type]


# Conversion

V1, OLD = "example.com/v1", "example.com/v1beta1"


async def _old_and_new(client: Client) -> None:
    await client.create(site("a", size=3, color="red"))
    old = await client.get(f"{OLD}/Site", "a", "default")
    assert old["spec"] == {"dimensions": "3", "color": "red"}
    assert old["metadata"]["labels"] == {"a": "b"}
    old["spec"]["dimensions"] = "4"
    await client.update(old)
    assert (await client.get(SITE, "a", "default"))["spec"] == {"size": 4, "color": "red"}


async def test_a_hub_and_its_spokes_convert_in_process() -> None:
    functions = {conversion.crd: conversion.function}
    async with ControlPlane(system=False, conversions=functions) as plane, plane.client() as client:
        await client.create(crd_of(Site, OldSite))
        await _old_and_new(client)


async def test_the_same_converts_over_https_and_the_definition_is_told_of_it() -> None:
    async with ControlPlane(system=False) as plane, plane.client() as client:
        crd = await client.create(crd_of(Site, OldSite))
        server = WebhookServer(client, conversions=[conversion], address="127.0.0.1:0")
        async with running(Manager(client, webhooks=server, health="127.0.0.1:0")) as task:
            await until(lambda: server.is_serving or task.done())
            async with asyncio.timeout(5):
                while crd["spec"].get("conversion", {}).get("strategy") != "Webhook":
                    crd = await client.get("apiextensions.k8s.io/v1/CustomResourceDefinition", conversion.crd)
                    await asyncio.sleep(0.01)
            config = crd["spec"]["conversion"]["webhook"]["clientConfig"]
            assert config["url"] == f"{server.url}/convert"
            assert b64decode(config["caBundle"]).startswith(b"-----BEGIN CERTIFICATE-----")
            await _old_and_new(client)


async def test_a_version_that_nobody_converts_is_told_at_the_start() -> None:
    async with ControlPlane(system=False) as plane, plane.client() as client:
        await client.create(crd_of(Site, OldSite))
        partial = ConversionWebhook(conversion.crd, conversion.function, ["v1"])
        server = WebhookServer(client, conversions=[partial], address="127.0.0.1:0")
        with pytest.raises(ValueError, match=r"no conversion of .* for version v1beta1"):
            await Manager(client, webhooks=server).run()
        assert not server.is_serving


async def test_what_a_conversion_raises_is_said_to_who_asks() -> None:
    @convert("sites.example.com")
    def broken(tree: Object, from_version: str, to_version: str) -> Object:
        raise ValueError(f"no way to {to_version}")

    async with asking(conversions=[broken]) as (client, send):
        await client.create(site("a"))
        review = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "ConversionReview",
            "request": {"uid": "1", "desiredAPIVersion": OLD, "objects": [site("a")]},
        }
        answer = await send("/convert", review)
        response = msgspec.json.decode(answer.body)["response"]
        assert response["uid"] == "1"
        assert response["result"] == {"status": "Failure", "message": f"no way to {OLD}"}


# Requests that are none

Send = Callable[..., Awaitable[Answer]]


@asynccontextmanager
async def asking(**given: Any) -> AsyncIterator[tuple[Client, Send]]:
    """Webhooks that are asked by the test itself."""
    async with ControlPlane(system=False) as plane, plane.client() as client:
        await client.create(crd_of(Site, OldSite))
        server = WebhookServer(client, address="127.0.0.1:0", install=False, **given)
        async with running(Manager(client, webhooks=server, metrics="127.0.0.1:0")):
            await until(lambda: server.is_serving)
            tls = ssl.create_default_context()
            tls.check_hostname = False
            tls.verify_mode = ssl.CERT_NONE
            transport = HttpTransport(endpoint(server.url, tls=tls))

            async def send(path: str, body: object, method: str = "POST", kind: str = "application/json") -> Answer:
                data = body if isinstance(body, bytes) else msgspec.json.encode(body)
                return await transport.send(Call(method, path, (), {"content-type": kind}, data))

            try:
                yield client, send
            finally:
                await transport.close()


def review(version: str, tree: Object) -> Object:
    gvk = {"group": "example.com", "version": "v1", "kind": "Site"}
    gvr = {"group": "example.com", "version": "v1", "resource": "sites"}
    request = {"uid": "17", "kind": gvk, "resource": gvr, "operation": "CREATE", "userInfo": {}, "object": tree}
    return {"apiVersion": f"admission.k8s.io/{version}", "kind": "AdmissionReview", "request": request}


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_both_versions_of_the_review_are_answered_in_kind(version: str) -> None:
    async with asking(webhooks=[checked, filled]) as (_, send):
        answer = msgspec.json.decode((await send(filled.path, review(version, site("a")))).body)
        assert answer["apiVersion"] == f"admission.k8s.io/{version}"
        response = answer["response"]
        assert (response["uid"], response["allowed"], response["patchType"]) == ("17", True, "JSONPatch")
        patch = msgspec.json.decode(b64decode(response["patch"]))
        assert patch == [{"op": "add", "path": "/spec/color", "value": "red"}]
        # Nothing to change is no patch.
        answer = msgspec.json.decode((await send(filled.path, review(version, site("a", color="blue")))).body)
        assert "patch" not in answer["response"]


async def test_what_is_no_review_is_refused_in_plain_words() -> None:
    async with asking(webhooks=[checked]) as (_, send):
        for body, kind in ((b"{", "application/json"), (b"{}", "application/json"), (b"{}", "text/plain")):
            response = msgspec.json.decode((await send(checked.path, body, kind=kind)).body)["response"]
            assert (response["allowed"], response["status"]["code"]) == (False, 400)
        assert (await send(checked.path, b"", method="GET")).status == 405
        assert (await send("/elsewhere", b"{}")).status == 404
        assert (await send(checked.path, b" " * (7 << 20) + b"{}")).status == 413


async def test_webhooks_are_counted() -> None:
    async with ControlPlane(system=False) as plane, plane.client() as client:
        await client.create(Site.crd())
        server = WebhookServer(client, [checked], address="127.0.0.1:0")
        manager = Manager(client, webhooks=server, metrics="127.0.0.1:0", health="127.0.0.1:0")
        async with running(manager):
            await until(lambda: server.is_serving)
            await _until_installed(client)
            with pytest.raises(APIError):
                await client.create(site("a", size=8))
            page = (await fetch(manager.url_of("metrics"), "/metrics")).body.decode()
            path = "/validate-example-com-v1-site"
            assert f'controller_runtime_webhook_requests_total{{code="200",webhook="{path}"}} 1\n' in page
            assert f'controller_runtime_webhook_panics_total{{webhook="{path}"}} 1\n' in page
            assert f'controller_runtime_webhook_requests_in_flight{{webhook="{path}"}} 0\n' in page
            assert (await fetch(manager.url_of("health"), "/readyz/webhooks")).body == b"ok"


# Certificates

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.feature("E83")
async def test_replicas_share_an_authority_by_a_secret_and_replace_it_in_time() -> None:
    clock = ManualClock(START)
    async with ControlPlane(system=False, clock=clock) as plane, plane.client() as client:
        first, second = (OwnCertificates(["w.default.svc"], clock, "default/webhooks") for _ in range(2))
        await asyncio.gather(first.refresh(client), second.refresh(client))
        assert first.bundle == second.bundle != b""
        assert not await first.refresh(client)
        # The serving certificate lasts a year, and is replaced in its last quarter; the authority stays.
        clock.advance(timedelta(days=300).total_seconds())
        before = first.bundle
        assert await first.refresh(client)
        assert first.bundle == before
        # The authority lasts ten years. Whoever replaces it, both are trusted.
        clock.advance(timedelta(days=3200).total_seconds())
        assert await second.refresh(client)
        assert second.bundle != before
        assert second.bundle.endswith(before)
        assert await first.refresh(client)
        assert first.bundle == second.bundle


async def test_a_secret_that_holds_nonsense_is_filled_anew() -> None:
    async with ControlPlane(system=False) as plane, plane.client() as client:
        metadata = {"name": "webhooks", "namespace": "default"}
        await client.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"ca.crt": "eA=="}})
        own = OwnCertificates(["w"], client.clock, "default/webhooks")
        assert await own.refresh(client)
        assert own.bundle.startswith(b"-----BEGIN CERTIFICATE-----")


@pytest.mark.feature("E83")
async def test_the_files_of_somebody_else_are_followed(tmp_path: Path) -> None:
    files = Certificates(tmp_path / "tls.crt", tmp_path / "tls.key")

    def write(name: str) -> None:
        pair = Authority.create(datetime.now(UTC), name).issue_server([name], datetime.now(UTC))
        files.certificate.write_bytes(pair.certificate)
        files.key.write_bytes(pair.key)

    write("one.example.com")
    clock = ManualClock(START)
    async with ControlPlane(system=False, clock=clock) as plane, plane.client() as client:
        server = WebhookServer(client, [checked], address="127.0.0.1:0", certificates=files)
        await server.start()
        try:
            first = await asyncio.to_thread(_certificate, server.url)
            write("two.example.com")
            clock.advance(60)
            await asyncio.sleep(0.01)
            assert await asyncio.to_thread(_certificate, server.url) != first
            # Configurations are left to whoever keeps the certificates.
            assert not (await client.list("admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration")).items
        finally:
            await server.stop(1)


def _certificate(url: str) -> str:
    host, _, port = url.removeprefix("https://").partition(":")
    return ssl.get_server_certificate((host, int(port)))


async def test_behind_a_service_the_configuration_names_it() -> None:
    async with ControlPlane(system=False) as plane, plane.client() as client:
        await client.create(Site.crd())
        server = WebhookServer(client, [checked], name="sites", address="127.0.0.1:0", service="default/hooks")
        await server.start()
        try:
            found = await client.get("admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration", "sites")
            [entry] = found["webhooks"]
            assert entry["clientConfig"]["service"] == {
                "namespace": "default",
                "name": "hooks",
                "path": checked.path,
                "port": 443,
            }
            assert entry["rules"] == [
                {
                    "apiGroups": ["example.com"],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE", "UPDATE", "DELETE"],
                    "resources": ["sites"],
                    "scope": "*",
                }
            ]
            secret = await client.get("v1/Secret", "hooks", "default")
            bundle = b64decode(entry["clientConfig"]["caBundle"])
            assert bundle == b64decode(secret["data"]["ca.crt"])
        finally:
            await server.stop(1)
