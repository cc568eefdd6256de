"""The health of the server, as probes and people ask for it."""

import asyncio

import pytest
from tests.server.nonresource.asking import asking

from setpoint.server.publish import health_checks
from setpoint.server.publish.nonresource.health import Check
from setpoint.server.request.context import Context


async def broken(context: Context) -> None:
    raise RuntimeError("the disk is full")


async def hanging(context: Context) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    "path", ["/healthz", "/livez", "/readyz", "/healthz/", "/livez/ping", "/readyz/etcd", "/readyz/shutdown"]
)
async def test_a_healthy_server_says_ok(path: str) -> None:
    async with asking() as server:
        assert await server.text(path) == (200, "ok")


STEPS = (
    "priority-and-fairness-config-consumer",
    "crd-informer-synced",
    "start-system-namespaces-controller",
    "rbac/bootstrap-roles",
    "scheduling/bootstrap-system-priority-classes",
    "priority-and-fairness-config-producer",
    "bootstrap-controller",
    "start-kubernetes-service-cidr-controller",
)
HOOKS = "".join(f"[+]poststarthook/{name} ok\n" for name in STEPS)


async def test_verbose_lists_the_checks() -> None:
    async with asking() as server:
        assert await server.text("/livez?verbose") == (200, f"[+]ping ok\n[+]etcd ok\n{HOOKS}livez check passed\n")
        ready = f"[+]ping ok\n[+]etcd ok\n[+]etcd-readiness ok\n{HOOKS}[+]shutdown ok\nreadyz check passed\n"
        assert await server.text("/readyz?verbose") == (200, ready)


async def test_a_server_is_not_healthy_before_each_step_of_its_start_is_complete() -> None:
    async with asking() as server:
        assert await server.text("/livez/poststarthook/rbac/bootstrap-roles") == (200, "ok")
        server.server.services.start_steps["rbac/bootstrap-roles"] = False
        status, text = await server.text("/livez")
        assert (status, "[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\n" in text) == (500, True)
        why = "internal server error: not finished\n"
        assert await server.text("/livez/poststarthook/rbac/bootstrap-roles") == (500, why)


async def test_a_server_that_shuts_down_is_not_ready_but_lives() -> None:
    async with asking() as server:
        server.server.services.is_stopping = True
        assert await server.text("/readyz/shutdown") == (500, "internal server error: process is shutting down\n")
        assert (await server.ask("/readyz")).status == 500
        assert await server.text("/livez") == (200, "ok")


async def test_results_are_counted_by_check_and_path() -> None:
    async with asking([Check("disk", broken)]) as server:
        await server.ask("/readyz")
        await server.ask("/livez")
        await server.ask("/livez?exclude=ping")
        await server.ask("/readyz/disk")  # a single check is not counted, as on kube-apiserver
        status, text = await server.text("/metrics/slis")
        lines = text.splitlines()
        assert status == 200
        assert 'kubernetes_healthcheck{name="disk",type="readyz"} 0' in lines
        assert 'kubernetes_healthcheck{name="ping",type="livez"} 1' in lines
        assert 'kubernetes_healthchecks_total{name="disk",type="readyz",status="error"} 1' in lines
        assert 'kubernetes_healthchecks_total{name="ping",type="livez",status="success"} 1' in lines
        assert 'kubernetes_healthchecks_total{name="etcd",type="livez",status="success"} 2' in lines


async def test_a_failed_check_fails_readiness_alone_and_keeps_its_reason_to_itself() -> None:
    async with asking([Check("disk", broken)]) as server:
        wanted = f"[+]ping ok\n[+]etcd ok\n[+]etcd-readiness ok\n{HOOKS}[-]disk failed: reason withheld\n"
        assert await server.text("/readyz") == (500, f"{wanted}[+]shutdown ok\nreadyz check failed\n")
        assert await server.text("/livez") == (200, "ok")
        assert await server.text("/livez/disk") == (404, "404 page not found\n")


async def test_a_check_that_is_asked_for_by_name_says_what_is_wrong() -> None:
    async with asking([Check("disk", broken)]) as server:
        assert await server.text("/readyz/disk") == (500, "internal server error: the disk is full\n")


async def test_a_check_can_be_excluded() -> None:
    async with asking([Check("disk", broken)]) as server:
        assert await server.text("/readyz?exclude=disk") == (200, "ok")
        status, text = await server.text("/readyz?verbose&exclude=disk&exclude=nothing")
        assert status == 200
        assert "[+]disk excluded: ok\n" in text
        assert 'warn: some health checks cannot be excluded: no matches for "nothing"\n' in text


async def test_a_check_that_hangs_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_checks, "_PATIENCE", 0.01)
    async with asking([Check("slow", hanging)]) as server:
        assert await server.text("/readyz/slow") == (500, "internal server error: no answer within 0.01 s\n")


async def test_a_store_that_cannot_be_read_is_not_well(monkeypatch: pytest.MonkeyPatch) -> None:
    async with asking() as server:

        async def revision() -> int:
            raise OSError("gone")

        monkeypatch.setattr(server.server.services.store, "revision", revision)
        assert (await server.ask("/livez")).status == 500


async def test_an_unknown_check_is_no_page() -> None:
    async with asking() as server:
        assert await server.text("/healthz/bogus") == (404, "404 page not found\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "FOO"])
async def test_health_answers_every_method_as_on_kube_apiserver(method: str) -> None:
    async with asking() as server:
        for path in ("/healthz", "/readyz/ping"):
            response = await server.ask(path, method=method)
            assert (response.status, response.body) == (200, b"ok")
