"""Archives of changed files for containers: contents, owners and bounds."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from setpoint.workload.engine import sync_archive
from setpoint.workload.engine.archive import ArchiveError, Owner
from setpoint.workload.engine.sync_archive import Copy, SyncPart, owner_of, place_in, sync_parts


def entries(part: SyncPart) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(part.data)) as opened:
        return {entry.name: entry for entry in opened}


def test_files_keep_their_mode_and_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("text")
    (tmp_path / "a").chmod(0o640)
    os.symlink("a", tmp_path / "b")
    os.mkfifo(tmp_path / "pipe")
    names = ("a", "b", "pipe", "missing")
    [part] = sync_parts([Copy(str(tmp_path / name), f"/x/{name}") for name in names], Owner(7, 8), "here")
    found = entries(part)
    assert (part.files, part.size, list(found)) == (2, 4, ["x/a", "x/b"])
    assert (found["x/a"].mode, found["x/a"].uid, found["x/a"].gid) == (0o640, 7, 8)
    assert found["x/b"].linkname == "a"


def test_large_sets_of_files_are_split_and_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copies = []
    for name in ("a", "b", "c"):
        (tmp_path / name).write_bytes(bytes(1000))
        copies.append(Copy(str(tmp_path / name), f"/{name}"))
    monkeypatch.setattr(sync_archive, "_PART_BYTES", 2000)
    assert [part.files for part in sync_parts(copies, Owner(0, 0), "here")] == [2, 1]
    monkeypatch.setattr(sync_archive, "_MOST_FILES", 2)
    with pytest.raises(ArchiveError, match="here: more than 2 files"):
        list(sync_parts(copies, Owner(0, 0), "here"))
    monkeypatch.setattr(sync_archive, "_MOST_FILE_BYTES", 10)
    with pytest.raises(ArchiveError, match="ignore or mount the file"):
        list(sync_parts(copies, Owner(0, 0), "here"))


@pytest.mark.parametrize(
    ("user", "owner"),
    [
        ("app", Owner(1000, 1001)),
        ("1000", Owner(1000, 1001)),
        ("5", Owner(5, 0)),
        ("5:6", Owner(5, 6)),
        ("app:staff", Owner(1000, 50)),
        ("unknown", Owner(0, 0)),
    ],
)
def test_the_owner_is_the_user_of_the_container(user: str, owner: Owner) -> None:
    accounts = "root:x:0:0::/root:/bin/sh\napp:x:1000:1001::/:/bin/sh\n"
    assert owner_of(user, accounts, "root:x:0:\nstaff:x:50:\n") == owner


def test_a_target_with_a_slash_is_the_directory_of_a_single_file() -> None:
    assert place_in("/etc/", "/home/a.ini", "") == "/etc/a.ini"
    assert place_in("/etc/b.ini", "/home/a.ini", "") == "/etc/b.ini"
    assert place_in("/srv", "/home/src", "deep/a") == "/srv/deep/a"
