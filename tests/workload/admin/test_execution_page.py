"""`/admin/execution`: what a client of DCP asks, and what it is answered."""

from pathlib import Path

import pytest
from tests.workload.admin.asking import EXECUTION, MERGE_PATCH, asked, execution, patched
from tests.workload.app import app


async def test_a_control_plane_says_that_it_runs_and_would_clean_up(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        assert await execution(world) == {"status": "Running", "shutdownResourceCleanup": "Full"}


@pytest.mark.parametrize(
    ("asked_for", "answers", "status"),
    [
        (["CleaningResources", "CleaningResources"], [202, 204], "CleaningResources"),
        (["CleaningResources", "Stopping"], [202, 202], "Stopping"),
        (["Stopping", "Stopping"], [202, 204], "Stopping"),
        (["Stopping", "CleaningResources"], [202, 200], "Stopping"),
    ],
    ids=["clean-twice", "clean-then-stop", "stop-twice", "stop-then-clean"],
)
async def test_a_second_request_is_answered_by_what_it_changes(
    tmp_path: Path, asked_for: list[str], answers: list[int], status: str
) -> None:
    async with app(tmp_path) as world:
        # Nobody lets go of it, so that the clean-up lasts.
        await world.python("held", finalizers=["example.com/held"])
        assert [(await patched(world, each))[0] for each in asked_for] == answers
        assert (await execution(world))["status"] == status
        await world.patch("Executable", "held", metadata={"finalizers": []})


async def test_after_the_clean_up_only_the_end_is_left(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        assert (await patched(world, "CleaningResources"))[0] == 202
        while (await execution(world))["status"] != "CleanupComplete":
            await world.client.clock.sleep(0.01)
        code, found = await patched(world, "CleaningResources")
        assert (code, found["status"]) == (200, "CleanupComplete")
        assert (await patched(world, "Stopping"))[0] == 202
        await world.plane.ended()


@pytest.mark.parametrize(
    ("body", "content_type", "code", "says"),
    [
        (b'{"status": "Running"}', MERGE_PATCH, 422, "status: unsupported value 'Running'"),
        (b'{"status": "CleanupComplete"}', MERGE_PATCH, 422, "status: unsupported value 'CleanupComplete'"),
        (b"{}", MERGE_PATCH, 422, "status: unsupported value None; expected Stopping or CleaningResources"),
        (b'{"status": "Stopping", "shutdownResourceCleanup": "Half"}', MERGE_PATCH, 422, "expected Full or None"),
        (b'{"status":', MERGE_PATCH, 400, "the patch is not valid JSON"),
        (b"[]", MERGE_PATCH, 400, "the patch must be a JSON object"),
        (b'{"status": "Stopping"}', "application/json", 415, MERGE_PATCH),
        (b'{"status": "Stopping"}', "", 415, MERGE_PATCH),
        (b'{"status": "Stopping", "more": "' + b"x" * 512 + b'"}', MERGE_PATCH, 413, "limit is 512"),
    ],
    ids=["running", "complete", "empty", "cleanup", "cut", "list", "json", "untyped", "large"],
)
async def test_a_patch_that_makes_no_sense_is_refused_and_changes_nothing(
    tmp_path: Path, body: bytes, content_type: str, code: int, says: str
) -> None:
    async with app(tmp_path) as world:
        status, answer = await asked(world.client, "PATCH", EXECUTION, body, content_type)
        assert (status, answer["kind"]) == (code, "Status")
        assert says in answer["message"]
        assert (await execution(world))["status"] == "Running"


async def test_what_is_settled_about_the_clean_up_stays_so(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web")
        assert (await patched(world, "CleaningResources", shutdownResourceCleanup="None"))[0] == 202
        code, answer = await patched(world, "Stopping", shutdownResourceCleanup="Full")
        assert (code, answer["reason"]) == (422, "Invalid")
        assert (await patched(world, "Stopping"))[0] == 202
        await world.plane.ended()
        assert await world.get("Executable", "web")


async def test_only_who_may_can_read_or_end_it(tmp_path: Path) -> None:
    async with app(tmp_path) as world, world.plane.client(user="bob", groups=["system:authenticated"]) as bob:
        assert (await asked(bob, "GET", EXECUTION))[0] == 403
        assert (await asked(bob, "PATCH", EXECUTION, b'{"status": "Stopping"}', MERGE_PATCH))[0] == 403
        assert (await execution(world))["status"] == "Running"


async def test_the_document_is_read_and_patched_and_nothing_else(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        assert (await asked(world.client, "DELETE", EXECUTION))[0] == 405
        assert (await asked(world.client, "GET", EXECUTION, content_type="text/plain"))[0] == 415
