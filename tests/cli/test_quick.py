"""Commands that only ask answer at once: they import what they need, and nothing else.

What a command imports every machine counts the same; how long it takes is told beside an interpreter that does nothing.
"""

import asyncio
import gc
import os
import subprocess
import sys
import uuid
from collections.abc import Mapping

import pytest
from tests.cli.conftest import Command, Served

from setpoint.cli.support import connection

# Each with what it needs beyond the rest.
ASKING: dict[str, frozenset[str]] = {
    "ps": frozenset(),
    "why exe/NAME": frozenset({"setpoint.flow"}),
    "history exe/NAME": frozenset(),
    "trace exe/NAME": frozenset(),
    "diff exe/NAME": frozenset({"yaml"}),
    "logs NAME": frozenset(),
    "get exe/NAME": frozenset(),
    "top": frozenset(),
    "url": frozenset(),
}
# What no such command needs: packages of our own, and what takes long of those of others.
NEEDLESS = (
    *("setpoint.server", "setpoint.store", "setpoint.cache", "setpoint.controller", "setpoint.plane", "setpoint.app"),
    *("setpoint.flow", "setpoint.schema", "setpoint.api", "setpoint.system", "setpoint.config", "setpoint.testing"),
    *("yaml", "cryptography", "uvloop", "tempfile", "shutil", "importlib.resources", "importlib.metadata"),
    *("http.client", "urllib.request", "email", "multiprocessing", "unittest", "secrets", "random"),
)
# The parts of the standard library are counted whole: versions of Python divide them into modules differently.
# In 3.14 parts of it import two more than before, annotationlib and codeop among them.
MODULES, STANDARD_PARTS = 165, 82 if sys.version_info < (3, 14) else 84
# A quick command takes some ten times what an interpreter takes that does nothing; the measure is rough.
ROUNDS, MOST_TIMES, MOST_TIMES_FOR_HELP = 3, 30, 12
LISTING = "import atexit, sys\natexit.register(lambda: print('\\n'.join(sys.modules), file=sys.stderr))\n"
STARTING = "from setpoint.cli.start import start\nstart()"


@pytest.fixture
def asked(setpoint: Command) -> str:
    """Something that runs, to ask about."""
    name = f"quick-{uuid.uuid4().hex[:6]}"
    tree = f"""
apiVersion: usvc-dev.developer.microsoft.com/v1
kind: Executable
metadata: {{name: {name}}}
spec: {{executablePath: sh, args: [-c, "echo hello; exec sleep 1000"]}}
"""
    assert setpoint("apply", "-f", "-", text=tree).code == 0
    assert setpoint("wait", f"exe/{name}", "--timeout", "60s").code == 0
    return name


def imported(served: Served, words: list[str], **environ: str) -> set[str]:
    """The modules that a command has imported when it ends."""
    command = [sys.executable, "-c", LISTING + STARTING, *words]
    done = subprocess.run(command, capture_output=True, text=True, env={**served.environ, **environ})
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def needless(modules: set[str], allowed: frozenset[str] = frozenset()) -> list[str]:
    barred = [name for name in NEEDLESS if name not in allowed]
    return sorted(each for each in modules if any(each == name or each.startswith(f"{name}.") for name in barred))


@pytest.mark.parametrize("words", ASKING)
def test_a_command_that_asks_imports_nothing_that_it_does_not_need(words: str, served: Served, asked: str) -> None:
    modules = imported(served, words.replace("NAME", asked).split())
    assert needless(modules, ASKING[words]) == []
    standard = {name for name in modules if name.partition(".")[0] in sys.stdlib_module_names}
    assert len({name for name in modules - standard if not name.startswith("_")}) < MODULES
    assert len({name.partition(".")[0] for name in standard if not name.startswith("_")}) < STANDARD_PARTS


def test_completing_a_command_imports_no_client(served: Served) -> None:
    completing = {"_SETPOINT_COMPLETE": "bash_complete", "COMP_WORDS": "setpoint g", "COMP_CWORD": "1"}
    modules = imported(served, [], **completing)
    assert not {"asyncio", "msgspec", "setpoint.client.client"} & modules
    assert needless(modules) == []


def test_completing_a_name_needs_no_more_than_asking_for_it(served: Served, asked: str) -> None:
    completing = {"_SETPOINT_COMPLETE": "bash_complete", "COMP_WORDS": "setpoint get exe/", "COMP_CWORD": "2"}
    assert needless(imported(served, [], **completing)) == []


@pytest.mark.slow
def test_commands_take_a_small_multiple_of_what_python_takes(served: Served, asked: str) -> None:
    """Collector in turns, the best of each: what else runs on the machine only ever adds."""
    start = [sys.executable, "-m", "setpoint"]
    commands = {
        "pass": [sys.executable, "-c", "pass"],
        "help": [*start, "--help"],
        "ps": [*start, "ps"],
        "why": [*start, "why", f"exe/{asked}"],
        "history": [*start, "history", f"exe/{asked}"],
    }
    best = dict.fromkeys(commands, float("inf"))
    for _ in range(ROUNDS):
        for name, command in commands.items():
            best[name] = min(best[name], processor_seconds(command, served.environ))
    times = {name: spent / best["pass"] for name, spent in best.items()}
    assert times["help"] < MOST_TIMES_FOR_HELP
    assert max(times["ps"], times["why"], times["history"]) < MOST_TIMES


def processor_seconds(command: list[str], environ: Mapping[str, str]) -> float:
    process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


def test_a_command_that_lasts_looks_for_its_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_QUICK_SECONDS", 0)

    async def last() -> bool:
        while not gc.isenabled():
            await asyncio.sleep(0)
        return True

    gc.disable()
    try:
        assert connection.run(last())
    finally:
        gc.enable()


@pytest.mark.parametrize(("words", "collects"), [("completion bash", False), ("dcp version", True)])
def test_garbage_is_left_alone_by_those_only_who_do_not_last(served: Served, words: str, collects: bool) -> None:
    program = f"import atexit, gc, sys\natexit.register(lambda: print(gc.isenabled(), file=sys.stderr))\n{STARTING}"
    command = [sys.executable, "-c", program, *words.split()]
    done = subprocess.run(command, capture_output=True, text=True, env=served.environ)
    assert done.stderr.split()[-1] == str(collects)
