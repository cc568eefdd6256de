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


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/healthz/", "/livez/ping", "/readyz/store"])
async def test_a_healthy_server_says_ok(path: str) -> None:
    async with asking() as server:
        assert await server.text(path) == (200, "ok")


async def test_verbose_lists_the_checks() -> None:
    async with asking() as server:
        assert await server.text("/livez?verbose") == (200, "[+]ping ok\n[+]store ok\nlivez check passed\n")


async def test_a_failed_check_fails_readiness_alone_and_keeps_its_reason_to_itself() -> None:
    async with asking([Check("disk", broken)]) as server:
        wanted = "[+]ping ok\n[+]store ok\n[-]disk failed: reason withheld\nreadyz check failed\n"
        assert await server.text("/readyz") == (500, wanted)
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
        assert (await server.ask("/healthz", method="POST")).status == 405
