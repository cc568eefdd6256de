"""The files of earlier runs: complete or absent, bounded in number, and without purged values."""

import json
import logging
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from setpoint.past.runs.record import RunObject, RunPart, RunRecord
from setpoint.past.runs.run_files import Damaged, NoRun, Refused, RunFiles
from setpoint.past.runs.settings import RunSettings
from setpoint.store.contract import Selection

KEY = "/core/configmaps/default/settings"
PART_KEY = "/usvc-dev.developer.microsoft.com/executables/api"


def record(number: int, log: str = "a", **fields: Any) -> RunRecord:
    started = "2026-01-31T12:00:00.000000Z"
    return RunRecord(number=number, log=log, started=started, first_revision=1, end="Stopped", objects=1, **fields)


def config_map(revision: int, value: str = "red", key: str = KEY) -> RunObject:
    tree = {"kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"colour": value}}
    return RunObject(key, revision, msgspec.Raw(json.dumps(tree).encode()))


def files(tmp_path: Path, **settings: Any) -> RunFiles:
    return RunFiles(tmp_path / "runs", RunSettings(**settings))


def texts(tmp_path: Path) -> bytes:
    """Returns the contents of all snapshots and records."""
    found = RunFiles(tmp_path / "runs")
    kept = [bytes(each.value) for record in found.records() for each in found.objects(record.number)]
    return b"".join((*kept, *(path.read_bytes() for path in (tmp_path / "runs").glob("*.json"))))


def test_runs_are_read_back_newest_first_from_private_files(tmp_path: Path) -> None:
    runs = files(tmp_path)
    runs.write(record(1), (config_map(4),))
    runs.write(record(2, name="second"), (config_map(9, "blue"),))
    assert [(each.number, each.name) for each in runs.records()] == [(2, "second"), (1, "")]
    [found] = runs.objects(1)
    assert (found.key, found.revision, b"red" in bytes(found.value)) == (KEY, 4, True)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "runs").iterdir()}
    assert modes == {0o600}
    assert stat.S_IMODE((tmp_path / "runs").stat().st_mode) == 0o700
    with pytest.raises(NoRun, match="run 3 is not recorded; `setpoint runs` lists"):
        runs.record(3)


def test_the_newest_runs_and_pinned_ones_are_kept(tmp_path: Path) -> None:
    runs = files(tmp_path, keep=2)
    runs.write(record(1), (config_map(1),))
    runs.change(1, pinned=True, name="before the upgrade")
    for number in range(2, 6):
        runs.write(record(number), (config_map(number),))
    assert [each.number for each in runs.records()] == [5, 4, 1]
    assert {path.name.split(".")[0] for path in (tmp_path / "runs").iterdir()} == {"000001", "000004", "000005"}
    assert runs.change(1, pinned=False).name == "before the upgrade"
    runs.write(record(6), ())
    assert [each.number for each in runs.records()] == [6, 5]


def test_a_pin_beyond_the_maximum_is_refused_with_a_remedy(tmp_path: Path) -> None:
    runs = files(tmp_path, keep=100)
    for number in range(1, 22):
        runs.write(record(number), ())
    for number in range(1, 21):
        runs.change(number, pinned=True)
    with pytest.raises(
        Refused, match=r"pinned: 20 runs are pinned, .* unpin one first, such as `setpoint runs unpin 1`"
    ):
        runs.change(21, pinned=True)
    # A pinned run can be named at the maximum.
    assert runs.change(20, pinned=True, name="kept").name == "kept"
    runs.change(1, pinned=False)
    assert runs.change(21, pinned=True).pinned


@pytest.mark.parametrize(("name", "problem"), [("a" * 101, "at most 100 characters"), ("a\nb", "control characters")])
def test_a_name_is_short_and_in_one_line(tmp_path: Path, name: str, problem: str) -> None:
    runs = files(tmp_path)
    runs.write(record(1), ())
    with pytest.raises(Refused, match=f"^name: .*{problem}"):
        runs.change(1, name=name)
    assert runs.record(1).name == ""


def test_the_current_run_can_be_pinned_before_its_end(tmp_path: Path) -> None:
    runs = files(tmp_path)
    runs.begin(RunRecord(number=1, log="a", started="", first_revision=1))
    runs.change(1, pinned=True, name="this one")
    found = runs.current()
    assert found is not None
    assert (found.pinned, found.name, runs.records()) == (True, "this one", [])


def test_a_crash_while_writing_leaves_no_half_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = files(tmp_path)
    runs.begin(RunRecord(number=1, log="a", started="", first_revision=1))
    whole = Path.replace

    def crash(self: Path, target: Path) -> Path:
        if target.name == "000001.json":
            raise KeyboardInterrupt
        return whole(self, target)

    monkeypatch.setattr(Path, "replace", crash)
    with pytest.raises(KeyboardInterrupt):
        runs.write(record(1), (config_map(1),))
    monkeypatch.undo()
    (tmp_path / "runs" / ".000001.json.new").write_text("{")
    assert (runs.records(), runs.current() is not None) == ([], True)
    # The next run removes the remains.
    runs.write(record(2), ())
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {"000002.json"}


def test_a_damaged_record_is_skipped_and_named_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    runs = files(tmp_path)
    for number in (1, 2):
        runs.write(record(number), (config_map(number),))
    (tmp_path / "runs" / "000001.json").write_bytes(b'{"number": "one"}')
    with caplog.at_level(logging.WARNING):
        assert [each.number for each in runs.records()] == [2]
    assert "000001.json: skipped the record of a run that cannot be read" in caplog.text
    # The next run does not take its number.
    (tmp_path / "runs" / "000003.json").write_bytes(b"")
    assert runs.beginning()[2] == 4


@pytest.mark.parametrize("text", [b"", b"no gzip", None])
def test_a_damaged_snapshot_is_an_error_and_removed_by_a_purge(tmp_path: Path, text: bytes | None) -> None:
    runs = files(tmp_path)
    runs.write(record(1), (config_map(1),))
    path = tmp_path / "runs" / "000001.objects.gz"
    path.write_bytes(path.read_bytes()[:-9] if text is None else text)
    with pytest.raises(Damaged, match="the objects of run 1 cannot be read"):
        runs.objects(1)
    assert runs.has("/core/secrets/default/any")
    assert runs.purge(Selection("/core/secrets/default/any")) == 0
    assert not path.exists()


def test_a_purge_removes_the_value_of_every_run(tmp_path: Path) -> None:
    runs = files(tmp_path)
    for number in (1, 2):
        runs.write(record(number), (config_map(number, "hunter2"), config_map(number, "other", f"{KEY}-2")))
    assert (runs.has(KEY), runs.has("/core/configmaps/default/none")) == (True, False)
    assert runs.purge(Selection(KEY)) == 2
    assert b"hunter2" not in texts(tmp_path)
    first, second = runs.objects(1)
    assert (first.key, first.purged, second.purged) == (KEY, True, False)
    assert runs.purge(Selection(KEY)) == 0


def test_a_purge_through_a_revision_removes_the_values_up_to_it_and_those_of_older_logs(tmp_path: Path) -> None:
    runs = files(tmp_path)
    runs.write(record(1, log="a"), (config_map(900, "of-crashed"),))
    runs.write(record(2, log="b"), (config_map(40, "early"),))
    runs.write(record(3, log="b"), (config_map(80, "late"),))
    assert runs.purge(Selection(KEY, through=60)) == 2
    left = texts(tmp_path)
    assert (b"of-crashed" in left, b"early" in left, b"late" in left) == (False, False, True)


def test_a_purge_of_a_namespace_spares_values_of_an_earlier_one(tmp_path: Path) -> None:
    runs = files(tmp_path)
    runs.write(record(1, log="a"), (config_map(900, "of-crashed"),))
    runs.write(record(2, log="b"), (config_map(40, "before"),))
    runs.write(record(3, log="b"), (config_map(80, "within"),))
    assert runs.purge(Selection(KEY, since=60)) == 1
    left = texts(tmp_path)
    assert (b"of-crashed" in left, b"before" in left, b"within" in left) == (True, True, False)


def test_a_purge_removes_the_state_of_a_part_and_keeps_its_name(tmp_path: Path) -> None:
    runs = files(tmp_path)
    part = RunPart("Executable", "api", "executables", "usvc-dev.developer.microsoft.com", "Failed", "Exited3")
    other = msgspec.structs.replace(part, name="web")
    runs.write(record(1, parts=(part, other)), (config_map(4, "hunter2", PART_KEY),))
    assert runs.purge(Selection(PART_KEY)) == 1
    purged, kept = runs.record(1).parts
    assert (purged.name, purged.purged, purged.state, purged.reason) == ("api", True, "", "")
    assert kept == other
