"""kubectl and the kinds of an extension API server."""

import asyncio
from pathlib import Path

import pytest
from tests.clients.conftest import kubectl_program
from tests.clients.kubectl import Kubectl
from tests.server.aggregation.extended_plane import extended
from tests.server.aggregation.extension import (
    API_SERVICE,
    API_SERVICES,
    GROUP,
    api_service,
    ask,
    has_reason,
    note,
    until,
)

pytestmark = [pytest.mark.slow, pytest.mark.kubectl]


async def test_kubectl_lists_creates_and_deletes_remote_objects(tmp_path: Path) -> None:
    async with extended() as (plane, extension):
        config = tmp_path / "kubeconfig"
        config.write_text(plane.kubeconfig())
        kubectl = Kubectl(kubectl_program(), config, tmp_path / "cache", "default")
        found = await asyncio.to_thread(kubectl.__call__, "api-resources", f"--api-group={GROUP}", "--no-headers")
        assert found.split() == ["notes", "nt", f"{GROUP}/v1", "true", "Note"]
        shown = await asyncio.to_thread(kubectl.__call__, "get", "apiservices", f"v1.{GROUP}", "--no-headers")
        assert shown.split()[:3] == [f"v1.{GROUP}", "extensions/notes", "True"]
        await asyncio.to_thread(kubectl.__call__, "create", "--validate=false", "-f", "-", stdin=note("first"))
        assert list(extension.notes) == ["first"]
        assert await asyncio.to_thread(kubectl.__call__, "get", "notes", "-o", "name") == f"note.{GROUP}/first\n"
        refused = await asyncio.to_thread(kubectl.refused, "get", "notes", "--as", "jane")
        assert 'User "jane" cannot list resource "notes"' in refused
        await asyncio.to_thread(kubectl.__call__, "delete", "note", "first", "--wait=false")
        assert extension.notes == {}
        extension.status = 500
        await ask(plane, "DELETE", API_SERVICE)
        await ask(plane, "POST", API_SERVICES, api_service())
        await until(has_reason("FailedDiscoveryCheck"), plane)
        refused = await asyncio.to_thread(kubectl.refused, "get", "--raw", f"/apis/{GROUP}/v1/notes")
        assert "the server is currently unable to handle the request" in refused
