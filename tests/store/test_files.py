"""Files of a store are for our own user alone, are refused where others could change them, and are locked as files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from setpoint.objects.provenance import Actor
from setpoint.store.contract import ANY, StoreError
from setpoint.store.files import make_directory
from setpoint.store.memory import KeptMemoryStore
from setpoint.store.sqlite import InUse, SqliteStore
from setpoint.store.sqlite.lock import masked

ALICE = Actor("alice")


@pytest.fixture(autouse=True)
def _usual_umask() -> object:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


async def test_the_files_of_a_store_are_for_our_own_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await SqliteStore.open(path)
    await store.commit("a", b"1", ANY, ALICE)
    found = {file.name: mode(file) for file in tmp_path.iterdir()}
    assert found == dict.fromkeys(["store.db", "store.db-wal", "store.db-shm", "store.db.lock"], 0o600)
    await store.close()
    kept = await KeptMemoryStore.open(tmp_path / "kept")
    await kept.close()
    assert mode(tmp_path / "kept") == 0o600


def test_every_directory_that_is_made_is_for_our_own_user_alone_and_no_other_is_changed(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir(mode=0o755)
    make_directory(there / "a" / "b")
    make_directory(there / "a" / "b")
    assert [mode(each) for each in (there, there / "a", there / "a" / "b")] == [0o755, 0o700, 0o700]
    (there / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        make_directory(there / "file" / "c")


@pytest.mark.parametrize("below", ["", "sub", "sub/sub"])
def test_a_file_in_the_place_of_a_directory_is_named(tmp_path: Path, below: str) -> None:
    file = tmp_path / "file"
    file.write_text("content")
    with pytest.raises(NotADirectoryError, match="Not a directory") as raised:
        make_directory(file / below)
    assert Path(raised.value.filename).is_relative_to(file)
    assert file.read_text() == "content"


async def test_a_file_that_others_can_read_is_repaired(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "store.db"
    await (await SqliteStore.open(path)).close()
    path.chmod(0o644)
    tmp_path.chmod(0o755)
    store = await SqliteStore.open(path)
    await store.commit("a", b"1", ANY, ALICE)
    assert [mode(path), mode(path.with_name("store.db-wal")), mode(tmp_path)] == [0o600, 0o600, 0o755]
    assert "could be read by other users (mode 0644)" in caplog.text
    await store.close()


@pytest.mark.parametrize("too_open", [0o660, 0o602])
async def test_a_file_that_others_can_change_is_refused_with_the_remedy(tmp_path: Path, too_open: int) -> None:
    path = tmp_path / "store.db"
    await (await SqliteStore.open(path)).close()
    path.chmod(too_open)
    with pytest.raises(StoreError, match=rf"{path}: .*chmod 600 {path}"):
        await SqliteStore.open(path)
    assert mode(path) == too_open
    assert {file.name for file in tmp_path.iterdir()} == {"store.db"}


async def test_a_file_of_another_user_is_refused_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    await (await SqliteStore.open(path)).close()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(StoreError, match=r"belongs to user .* chown"):
        await SqliteStore.open(path)


HOLD = """
import asyncio, sys
from setpoint.store.sqlite import SqliteStore
async def main():
    store = await SqliteStore.open(sys.argv[1])
    print("held", flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


@pytest.mark.parametrize("link", [os.link, os.symlink], ids=["hard link", "symbolic link"])
async def test_a_file_that_another_process_holds_is_refused_under_every_name(tmp_path: Path, link: object) -> None:
    path, other = tmp_path / "store.db", tmp_path / "elsewhere" / "other.db"
    other.parent.mkdir()
    await (await SqliteStore.open(path)).close()
    assert callable(link)
    link(path, other)
    secret = "s3cr3t-token"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), "--token", secret], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        for name in (other, path):
            with pytest.raises(InUse) as refused:
                await SqliteStore.open(name)
            assert secret not in str(refused.value)
        assert secret not in path.with_name("store.db.lock").read_text()
    finally:
        holder.kill()
        holder.communicate()
    store = await SqliteStore.open(other)
    await store.close()


def test_credentials_are_masked_in_the_command_line_of_a_holder() -> None:
    assert masked("setpoint serve --token abc --listen :0") == "setpoint serve --token *** --listen :0"
    assert masked("setpoint serve --token=abc") == "setpoint serve --token=***"
    assert masked("serve --store etcd:https://root:pw@host:2379/x") == "serve --store etcd:https://***@host:2379/x"
    assert masked("serve --etcd-password pw --bootstrap-token t") == "serve --etcd-password *** --bootstrap-token ***"
