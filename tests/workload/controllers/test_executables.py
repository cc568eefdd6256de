"""Executables, with real processes: starting, stopping, starting again, and what is told of it."""

import signal
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.workload.app import PYTHON, App, app, condition_of, gone, identity_time

from setpoint.objects.tree import Object
from setpoint.workload.certificates import subject_hash
from setpoint.workload.process.identity import identity_of

STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""


async def test_a_process_runs_and_is_told_of(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python(
            "web",
            "import os, time; print(os.getcwd(), os.environ['WHO'], flush=True); time.sleep(600)",
            env=[{"name": "WHO", "value": "ada"}],
        )
        found = await world.ready("Executable", "web")
        status = found["status"]
        assert status["state"] == "Running"
        assert status["healthStatus"] == "Healthy"
        assert status["executionID"] == str(status["pid"])
        assert Path(f"/proc/{status['pid']}").exists()
        assert {"name": "WHO", "value": "ada"} in status["effectiveEnv"]
        assert await world.first_line("web") == f"{tmp_path} ada"
    await gone(status["pid"])


async def restarted(world: App, name: str, times: int) -> Object:
    """The object, once it was started again so often."""
    found: Object = await world.until(
        "Executable", name, lambda tree: (tree.get("status") or {}).get("restartCount", 0) >= times
    )
    return found


async def test_how_a_process_ended_is_told_with_its_last_words(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("job", "print('done')")
        found = await world.state("Executable", "job", "Finished")
        assert found["status"]["exitCode"] == 0
        assert found["status"]["healthStatus"] == "Caution"
        assert condition_of(found, "Ready")["reason"] == "Completed"
        await world.python("bad", "import sys; sys.exit('the database is not there')")
        found = await world.state("Executable", "bad", "Finished")
        assert found["status"]["exitCode"] == 1
        assert found["status"]["healthStatus"] == "Unhealthy"
        assert condition_of(found, "Started")["message"] == (
            "the process ended with exit code 1; last output: the database is not there"
        )
        await world.python("killed", "import os; os.kill(os.getpid(), 9)")
        found = await world.state("Executable", "killed", "Finished")
        assert found["status"]["exitCode"] == 137
        assert "SIGKILL" in condition_of(found, "Started")["message"]


@pytest.mark.parametrize(
    ("spec", "reason", "message"),
    [
        ({"executablePath": "pyton3"}, "NotFound", "python3"),
        ({"executablePath": PYTHON, "workingDirectory": "no/where"}, "BadDirectory", "no/where"),
        ({"executablePath": PYTHON, "envFiles": ["missing.env"]}, "EnvFileNotFound", "missing.env"),
        ({"executablePath": PYTHON, "args": ["{{ portfor }}"]}, "InvalidTemplate", "spec.args[0]"),
        ({"executablePath": PYTHON, "stopSignal": "SIGNONE"}, "InvalidSpec", "SIGTERM"),
        ({"executablePath": PYTHON, "executionType": "IDE"}, "IDENotAvailable", "executionType Process"),
    ],
)
async def test_what_cannot_be_started_says_why_and_what_to_do(
    tmp_path: Path, spec: dict[str, object], reason: str, message: str
) -> None:
    async with app(tmp_path) as world:
        await world.make("Executable", "web", spec)
        found = await world.state("Executable", "web", "FailedToStart")
        condition = condition_of(found, "Started")
        assert condition["reason"] == reason
        assert message in condition["message"]
        assert found["status"]["healthStatus"] == "Unhealthy"


async def test_another_way_to_start_is_tried_where_the_first_one_fails(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web", executionType="IDE", fallbackExecutionTypes=["Process"])
        await world.state("Executable", "web", "Running")


async def test_it_is_not_started_before_it_should_be(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web", start=False)
        await world.ready("Executable", "web", "False", "NotStarted")
        await world.patch("Executable", "web", spec={"start": True})
        await world.state("Executable", "web", "Running")


async def test_it_is_stopped_with_everything_that_it_started(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web", STUBBORN, stopTimeout="100ms")
        found = await world.state("Executable", "web", "Running")
        child = int(await world.first_line("web"))
        await world.patch("Executable", "web", spec={"stop": True})
        found = await world.state("Executable", "web", "Finished")
        assert found["status"]["exitCode"] == 128 + signal.SIGKILL
        assert condition_of(found, "Started")["reason"] == "Stopped"
        await gone(child)


async def test_the_signal_that_asks_it_to_end_can_be_chosen(tmp_path: Path) -> None:
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, lambda *_: sys.exit(7)); print(1, flush=True); signal.pause()"
    )
    async with app(tmp_path) as world:
        await world.python("web", f"{code}; signal.pause()", stopSignal="SIGINT")
        await world.first_line("web")
        await world.patch("Executable", "web", spec={"stop": True})
        assert (await world.state("Executable", "web", "Finished"))["status"]["exitCode"] == 7


async def test_deleting_it_ends_the_process_first(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web")
        pid = (await world.state("Executable", "web", "Running"))["status"]["pid"]
        await world.delete("Executable", "web")
        assert not Path(f"/proc/{pid}").exists()
        # And at once again: it is another one.
        await world.python("web", "print('second')")
        await world.state("Executable", "web", "Finished")
        assert await world.log("web") == "second\n"


async def test_one_that_was_stopped_before_it_started_never_runs(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web", "open('ran', 'w')", stop=True)
        await world.state("Executable", "web", "FailedToStart")
        assert not (tmp_path / "ran").exists()


async def test_one_that_fails_is_started_again_and_waits_longer_each_time(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        backoff = {"initial": "10ms", "max": "40ms"}
        await world.python("web", "import sys; sys.exit(3)", restartPolicy="OnFailure", restartBackoff=backoff)
        found = await world.until(
            "Executable", "web", lambda tree: (tree.get("status") or {}).get("restartCount", 0) >= 3
        )
        assert found["status"]["lastExitCode"] == 3
        assert "system" not in await world.log("web")
        notes = await world.log("web", source="system")
        assert [wait in notes for wait in ("in 0.01 s", "in 0.02 s", "in 0.04 s", "in 0.08 s")] == [True] * 3 + [False]
        await world.python("job", "pass", restartPolicy="OnFailure")
        assert (await world.state("Executable", "job", "Finished"))["status"].get("restartCount", 0) == 0


async def test_one_that_is_always_to_run_is_started_again_even_if_it_ended_well(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web", "pass", restartPolicy="Always", restartBackoff={"initial": "10ms"})
        await restarted(world, "web", 2)


async def test_a_restart_can_be_asked_for(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web")
        pid = (await world.state("Executable", "web", "Running"))["status"]["pid"]
        await world.patch("Executable", "web", metadata={"annotations": {"setpoint.dev/restart-requested-at": "now"}})
        await restarted(world, "web", 1)
        assert (await world.state("Executable", "web", "Running"))["status"]["pid"] != pid
        await gone(pid)
        # Also of one that has ended.
        await world.python("job", "print('run')")
        await world.state("Executable", "job", "Finished")
        await world.patch("Executable", "job", metadata={"annotations": {"setpoint.dev/restart-requested-at": "1"}})
        await restarted(world, "job", 1)
        found = await world.state("Executable", "job", "Finished")
        assert found["status"]["restartReason"] == "a restart was requested"
        assert await world.log("job") == "run\nrun\n"


async def test_one_that_a_liveness_probe_finds_dead_is_started_again(tmp_path: Path) -> None:
    probe = {
        "name": "alive",
        "type": "Exec",
        "role": "Liveness",
        "execProbe": {"command": [PYTHON, "-c", "import os, sys; sys.exit(os.path.exists('dead'))"]},
        "schedule": {"interval": "50ms"},
    }
    async with app(tmp_path) as world:
        await world.python("web", healthProbes=[probe], restartBackoff={"initial": "10ms"})
        await world.ready("Executable", "web")
        (tmp_path / "dead").touch()
        await restarted(world, "web", 1)
        (tmp_path / "dead").unlink()
        await world.ready("Executable", "web")
        assert "the liveness probe alive failed" in await world.log("web", source="system")


async def test_it_waits_for_what_it_depends_on(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        depends = [{"kind": "Executable", "name": "migrate", "condition": "Succeeded"}]
        await world.python("web", dependsOn=depends)
        found = await world.ready("Executable", "web", "False", "WaitingForDependencies")
        assert condition_of(found, "Ready")["message"] == (
            "waits for Executable migrate to be Succeeded: it does not exist"
        )
        await world.python("migrate", "import pathlib, time\nwhile not pathlib.Path('go').exists(): time.sleep(0.01)")
        await world.until("Executable", "web", lambda tree: "it is Running" in condition_of(tree, "Ready")["message"])
        (tmp_path / "go").touch()
        await world.state("Executable", "web", "Running")


async def test_those_that_wait_for_each_other_are_told_so(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        for name, other in (("a", "b"), ("b", "a")):
            await world.python(name, dependsOn=[{"kind": "Executable", "name": other}])
        found = await world.ready("Executable", "b", "False", "Deadlock")
        message = condition_of(found, "Ready")["message"]
        assert "Executable a" in message
        assert "Executable b" in message


async def test_a_log_line_may_say_that_it_is_ready(tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    code = f"""
import os, time
print('starting', flush=True)
while not os.path.exists({str(allowed)!r}): time.sleep(0.01)
print('listening on 80', flush=True)
time.sleep(600)
"""
    probe = {
        "name": "up",
        "type": "Log",
        "logProbe": {"pattern": "^listening on [0-9]+$"},
        "schedule": {"interval": "50ms"},
    }
    async with app(tmp_path) as world:
        await world.python("web", code, healthProbes=[probe])
        await world.ready("Executable", "web", "False", "ProbeFailed")
        allowed.touch()
        await world.ready("Executable", "web")


async def test_a_line_of_the_life_before_says_nothing_of_this_one(tmp_path: Path) -> None:
    code = "import os, time; os.path.exists('quiet') or print('listening', flush=True); time.sleep(600)"
    probe: Object = {
        "name": "up",
        "type": "Log",
        "schedule": {"interval": "50ms"},
        "logProbe": {"pattern": "listening"},
    }
    async with app(tmp_path) as world:
        await world.python("web", code, healthProbes=[probe])
        await world.ready("Executable", "web")
        (tmp_path / "quiet").touch()
        await world.patch("Executable", "web", metadata={"annotations": {"setpoint.dev/restart-requested-at": "1"}})
        await restarted(world, "web", 1)
        await world.ready("Executable", "web", "False", "ProbeFailed")


async def test_what_survives_is_found_again(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("db", persistent=True)
        pid = (await world.state("Executable", "db", "Running"))["status"]["pid"]
        assert await world.first_line("db") == "up"
    assert Path(f"/proc/{pid}").exists()
    async with app(tmp_path) as world:
        await world.python("db", persistent=True)
        found = await world.state("Executable", "db", "Running")
        assert found["status"]["pid"] == pid
        assert await world.log("db") == "up\n"
        assert f"process {pid} of an earlier session was taken over" in await world.log("db", source="system")
        await world.delete("Executable", "db")
        assert Path(f"/proc/{pid}").exists()
        # Another one is wanted now: the old one goes.
        await world.python("db", args=["changed"], persistent=True)
        found = await world.state("Executable", "db", "Running")
        assert found["status"]["pid"] != pid
        await gone(pid)
        assert "args changed" in await world.log("db", source="system")
    pid = found["status"]["pid"]
    async with app(tmp_path) as world:
        await world.python("db", args=["changed"], mode="cleanup")
        assert (await world.state("Executable", "db", "Running"))["status"]["pid"] == pid
        await world.delete("Executable", "db")
        await gone(pid)
        await world.python("db", mode="cleanup")
        await world.state("Executable", "db", "NotFound")


async def test_what_survives_may_end_with_another_process(tmp_path: Path) -> None:
    with subprocess.Popen([PYTHON, "-c", "input()"], stdin=subprocess.PIPE) as other:
        began = datetime.fromtimestamp(Path(f"/proc/{other.pid}").stat().st_mtime, UTC)
        timestamp = began.isoformat(timespec="microseconds").replace("+00:00", "Z")
        async with app(tmp_path) as world:
            await world.python("db", persistent=True, monitorPid=other.pid, monitorTimestamp=timestamp)
            pid = (await world.state("Executable", "db", "Running"))["status"]["pid"]
            other.kill()
            found = await world.state("Executable", "db", "Finished")
            assert f"process {other.pid} has ended" in await world.log("db", source="system")
            assert condition_of(found, "Started")["reason"] == "Stopped"
            await gone(pid)


async def test_what_is_tied_to_a_process_ends_with_it_when_no_control_plane_lives(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "600"]) as other:
        identity = identity_of(other.pid)
        assert identity is not None
        # As DCP reckons on Linux: from the boot.
        spec: Object = {"persistent": True, "monitorPid": other.pid, "monitorTimestamp": identity_time(identity)}
        async with app(tmp_path) as world:
            await world.python("db", **spec)
            pid = (await world.state("Executable", "db", "Running"))["status"]["pid"]
        assert Path(f"/proc/{pid}").exists()
        other.kill()
        await gone(pid)


async def test_certificates_lie_where_openssl_finds_them(tmp_path: Path) -> None:
    pem = certificate("example")
    async with app(tmp_path) as world:
        given = {"certificates": [{"thumbprint": "abc", "contents": pem}]}
        await world.python("web", pemCertificates=given)
        await world.state("Executable", "web", "Running")
        directory = tmp_path / "run" / "web" / "certs"
        assert (directory.parent / "cert.pem").read_text() == (directory / "abc.pem").read_text() == pem
        assert not (directory / "cert.pem").exists()
        assert (directory / f"{subject_hash(pem)}.0").read_text() == pem
        given = {"certificates": [{"thumbprint": "abc", "contents": "nonsense"}]}
        await world.python("bad", pemCertificates=given)
        found = await world.state("Executable", "bad", "FailedToStart")
        assert condition_of(found, "Started")["reason"] == "InvalidCertificate"
        await world.python("lenient", pemCertificates={**given, "continueOnError": True})
        await world.state("Executable", "lenient", "Running")
        assert "skipped: pemCertificates.certificates[0]" in await world.log("lenient", source="system")


def certificate(name: str) -> str:
    """One that nobody signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime(2026, 1, 1, tzinfo=UTC)
    made = x509.CertificateBuilder(subject, subject, key.public_key(), 1, now, now + timedelta(days=1))
    return made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


async def test_a_control_plane_that_starts_again_on_its_store_runs_everything_again(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'store.db'}"
    async with app(tmp_path, store=store) as world:
        await world.python("web")
        await world.python("job", "print('once')")
        await world.python("db", persistent=True)
        first = (await world.state("Executable", "web", "Running"))["status"]["pid"]
        kept = (await world.state("Executable", "db", "Running"))["status"]["pid"]
        await world.state("Executable", "job", "Finished")
    await gone(first)
    async with app(tmp_path, store=store) as world:
        await world.until("Executable", "web", lambda tree: tree["status"].get("pid") not in (None, first))
        await world.until("Executable", "db", lambda tree: tree["status"].get("pid") == kept)
        assert (await world.get("Executable", "job"))["status"]["state"] == "Finished"
        await world.patch("Executable", "db", spec={"stop": True})
        await world.state("Executable", "db", "Finished")
        await gone(kept)
