"""Files that cannot be run are refused with the place in the file and a remedy, and without a stack of ours."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.session.controllers.hosting_app import program

import setpoint as sp
from setpoint.objects.clock import SystemClock
from setpoint.session.controllers.entry import EntryPoint
from setpoint.session.controllers.messages import Begin, Ran, Refused
from setpoint.session.controllers.program import Program
from setpoint.session.controllers.worker_slots import WorkerSlots

HERE = Path(__file__).parent
CASES: list[dict[str, Any]] = msgspec.yaml.decode((HERE / "refusals.yaml").read_bytes())


def write(directory: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, str]]:
    """By the name of a case: its directory, and what was said of it."""
    directories = [tmp_path_factory.mktemp("case") for _ in CASES]
    for directory, case in zip(directories, CASES, strict=True):
        write(directory, case["files"])
    asked = [
        (str(directory), case.get("module", "controllers/shop.py"), case.get("entry", ""))
        for directory, case in zip(directories, CASES, strict=True)
    ]
    ran = subprocess.run(
        [sys.executable, "-P", HERE / "loading_each.py", json.dumps(asked)], capture_output=True, check=True
    )
    answers = json.loads(ran.stdout)
    return {case["name"]: (place, text) for case, place, text in zip(CASES, directories, answers, strict=True)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_file_is_taken_or_refused_in_words(case: dict[str, Any], said: dict[str, tuple[Path, str]]) -> None:
    directory, answer = said[case["name"]]
    if "has" in case:
        assert answer == case["has"]
    else:
        assert answer.startswith("refused: " + case["why"].format(python=sys.executable, directory=directory))
        assert "\n" not in answer


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import os\nos._exit(7)\n", "shop.py: its process exited with code 7 during import"),
        ("import os\nos.kill(os.getpid(), 11)\n", "shop.py: its process was killed by SIGSEGV during import"),
    ],
    ids=["an exit", "a crash"],
)
async def test_an_import_that_ends_the_process_is_told(text: str, why: str, tmp_path: Path) -> None:
    write(tmp_path, {"shop.py": text})
    program = await Program.start(Begin(str(tmp_path), "shop.py", "", []), _deaf, SystemClock(), os.environ)
    answer = await program.loaded()
    await program.stop(0)
    assert answer == Refused(why, [])


async def test_a_server_that_cannot_be_asked_is_no_mistake_in_the_file(tmp_path: Path) -> None:
    text = "import setpoint as sp\n\n\n@sp.controller('v1/ConfigMap')\nasync def shop(ctx, request): ...\n"
    write(tmp_path, {"shop.py": text})
    begin = Begin(str(tmp_path), "shop.py", "", [str(tmp_path / "kubeconfig")])
    program = await Program.start(begin, _deaf, SystemClock(), os.environ)
    answer = await program.loaded()
    await program.stop(0)
    assert isinstance(answer, Refused)
    assert "cannot read" in answer.why


async def test_a_program_ends_with_whoever_runs_it(tmp_path: Path) -> None:
    write(tmp_path, {"shop.py": "import time\ntime.sleep(600)\n"})
    program = await Program.start(Begin(str(tmp_path), "shop.py", "", []), _deaf, SystemClock(), os.environ)
    assert program._writer is not None
    program._writer.close()  # what the end of the process that runs it does
    assert "killed" in await program.ended


def _deaf(message: object) -> None:
    """Hears nothing."""


@pytest.mark.slow
async def test_a_server_that_does_not_answer_yet_is_asked_again(tmp_path: Path) -> None:
    async with sp.ControlPlane(system=False) as plane:
        await plane.listen()
        elsewhere = plane.kubeconfig()
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(elsewhere)  # of a server that is no more
    write(tmp_path, {"shop.py": program("pass")})
    told = Told()
    seats = WorkerSlots(tmp_path, told, SystemClock(), os.environ)
    async with sp.ControlPlane(system=False) as plane:
        await plane.listen()
        try:
            entry = EntryPoint("shop.py")
            await seats.set({entry: Begin(str(tmp_path), "shop.py", "", [str(kubeconfig)])})
            await told.heard("ControllersNotLoaded")
            assert [row.state for row in await seats.rows()] == ["Loading"]
            kubeconfig.write_text(plane.kubeconfig())
            await told.heard("ControllersLoaded")
        finally:
            await seats.close()
    assert [reason for reason, _ in told.said] == ["ControllersNotLoaded", "ControllersLoaded"]
    assert told.said[0][1].startswith("cannot use the server: cannot connect to https://127.0.0.1:")


class Told:
    """Remembers what became of programs."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []
        self._more = asyncio.Event()

    def happened(self, entry: EntryPoint, reason: str, text: str, *, bad: bool) -> None:
        self.said.append((reason, text))
        self._more.set()

    def printed(self, entry: EntryPoint, controller: str, text: str, *, error: bool) -> None:
        """What is printed is no matter here."""

    def ran(self, entry: EntryPoint, run: Ran) -> None:
        """Nor is what runs."""

    async def heard(self, reason: str) -> None:
        """Waits until something has happened."""
        while reason not in [each for each, _ in self.said]:
            self._more.clear()
            await self._more.wait()
