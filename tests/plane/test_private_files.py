"""What a control plane puts on the disk is for its own user alone, under the usual umask."""

import ast
import os
import tempfile
from pathlib import Path

import pytest

from setpoint.objects.clock import SystemClock
from setpoint.objects.ids import SeededIds, SystemIds
from setpoint.plane import ControlPlane, open_store
from setpoint.session import host
from setpoint.session.paths import Places
from setpoint.session.registry import Session, Sessions
from setpoint.workload import workload_host
from setpoint.workload.controllers.certificate_files import write_certificates
from setpoint.workload.logs.capture import Capture
from setpoint.workload.process.identity import Identity
from setpoint.workload.records import Records

SOURCE = Path(__file__).parents[2] / "src" / "setpoint"

# Modules that make files or directories by other means than `store.files` and `server.secret_files`, and why they
# may.
ALLOWED = {
    "store/files.py": "the means itself",
    "session/host.py": "a directory inside the session's own, with mode 0700",
    "envtest/assets.py": "executables, for everybody",
    "envtest/etcd.py": "an empty data directory with mode 0700; it imports next to nothing",
    "workload/engine/podman_service.py": "a temporary directory with mode 0700, which the engine may remove",
    "workload/workload_host.py": "a directory inside a temporary one, with mode 0700",
    "app/init/": "files of the user's project",
    "cli/controllers/new.py": "files of the user's project",
    "cli/controllers/production.py": "files of the user's project",
    "cli/app/init.py": "files of the user's project",
    "cli/mcp/client_configuration.py": "files of the user's project",
    "cli/controllers/models.py": "files of the user's project",
    "cli/controllers/fsm.py": "files of the user's project",
    "cli/objects/edit.py": "in a temporary directory, which has mode 0700",
    "workload/controllers/container/start_sequence.py": "the source of a mount, which the container's user has to read",
}
MAKING = {"mkdir", "makedirs", "write_text", "write_bytes"}


@pytest.mark.slow
def test_no_module_makes_files_or_directories_by_other_means() -> None:
    found = set()
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MAKING:
                found.add(name)
    unknown = {name for name in found if not any(name.startswith(allowed) for allowed in ALLOWED)}
    assert unknown == set(), "make them with setpoint.store.files, or say here why not"


def modes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mode & 0o777 for path in sorted(folder.rglob("*"))}


def check(folder: Path) -> None:
    # A certificate of an authority is public: clients are given it.
    found = {name: mode for name, mode in modes(folder).items() if not name.endswith("ca.crt")}
    assert found
    assert {name: mode for name, mode in found.items() if mode & 0o077} == {}


async def test_store_keys_kubeconfig_and_socket_are_private(tmp_path: Path) -> None:
    async def serve() -> None:
        plane = ControlPlane(store=f"sqlite:{tmp_path}/deep/er/state.db")
        async with plane:
            await plane.listen("127.0.0.1", tls=True)
            plane.write_kubeconfig(tmp_path / "kube" / "config")
            check(tmp_path)
            # A kube-controller-manager that starts now reads the key.
            [key] = tmp_path.rglob("service-accounts.pem")
            assert "PRIVATE KEY" in key.read_text()
        check(tmp_path)
        store = await open_store(f"memory:{tmp_path}/kept", SystemClock(), SystemIds())
        await store.close()
        check(tmp_path)

    before = os.umask(0o022)
    try:
        await serve()
    finally:
        os.umask(before)
    assert {"deep", "deep/er", "deep/er/state.db", "deep/er/state.db.keys", "kube/config"} <= set(modes(tmp_path))


def test_directories_for_the_state_of_runs_are_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = Places(tmp_path / "session")
    places.data.mkdir(mode=0o700)
    places.applied.write_text("")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = os.umask(0)
    try:
        host._set_aside_data(places)
        own = workload_host._own_directory(SeededIds(1))
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (places.crashed, own)] == [0o700, 0o700]


async def test_sessions_records_logs_and_certificates_are_private(tmp_path: Path) -> None:
    async def capture() -> None:
        log = Capture(tmp_path / "logs" / "web", "out", SystemClock())
        log.write(b"line\n")
        log.release()

    before = os.umask(0o022)
    try:
        Sessions(tmp_path / "state" / "setpoint").add(
            Session(app="a", directory="/d", process="1", kubeconfig="", url="", started="")
        )
        write_certificates(tmp_path / "certificates" / "web", {})
        await capture()
        Records(tmp_path / "records" / "records.sqlite3", Identity(1, 1)).close()
    finally:
        os.umask(before)
    check(tmp_path)
    assert len(modes(tmp_path)) > 8
