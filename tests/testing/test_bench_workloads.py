"""The comparison of `bench workloads`: valid files, a complete table, and measures that find the processes."""

from pathlib import Path

import pytest
from bench.workloads.dcp_comparison import _measure_executables
from bench.workloads.dcp_instance import programs, running
from bench.workloads.scene import scene, until_ready
from bench.workloads.table import row
from bench.workloads.tools import LAST, Plan, Setpoint

from setpoint.app.loader import load_app


def test_the_app_file_of_the_comparison_has_no_mistakes(tmp_path: Path) -> None:
    Setpoint().write(Plan(tmp_path, tmp_path / "reports", [1, 2, 3]))
    loaded = load_app(tmp_path / "setpoint.yaml", {})
    assert sum(tree["kind"] == "Executable" for tree in loaded.objects) == 3


def test_a_row_shows_ratios_and_missing_values() -> None:
    line = row("start, ms", {"a": 4.0, "b": 2.0}, ["a", "b", "c"])
    assert line.split() == ["start", "ms", "4", "2", "(2.00x)", "–"]


@pytest.mark.slow
def test_processes_of_setpoint_are_counted_apart_from_services() -> None:
    with scene(Setpoint(), 2, "tree") as running:
        seconds, spent = running.start([*until_ready(running.tool, running.plan), "s0-child", "s1-child"])
        assert seconds > 0
        assert spent > 0
        services = set(running.services())
        assert services == {running.reports.pids[name] for name in ("s0", "s1", "s0-child", "s1-child", LAST)}
        own = running.processes()
        assert running.main_process("s0") in own
        assert services.isdisjoint(own)
    assert running.processes() == running.services() == []


def test_dcp_is_compared_only_if_its_executable_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DCP_SOURCE", raising=False)
    monkeypatch.setenv("DCP", str(tmp_path))
    assert [program.name for program in programs()] == ["setpoint"]
    (tmp_path / "dcp").touch(mode=0o755)
    assert [program.name for program in programs()] == ["setpoint", "dcp"]


@pytest.mark.slow
def test_executables_of_an_instance_are_measured_and_ended() -> None:
    with running(programs()[0]) as instance:
        found = _measure_executables(instance, 3, 2)
        assert instance.pids() == []
    assert len(found) == 7
    assert all(value > 0 for value in found.values())
