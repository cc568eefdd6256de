"""Directories in directories: what the server cannot check is held to the same rules."""

from typing import Any

from setpoint.objects.frozen import freeze
from setpoint.workload.kinds.nested_files import completed


def directory(name: str, *entries: Any) -> dict[str, Any]:
    return {"name": name, "type": "directory", "entries": list(entries)}


def test_entries_of_any_depth_get_their_defaults_and_what_was_given_stays_as_it_was() -> None:
    given = freeze([{"entries": [directory("a", directory("b", {"name": "f", "contents": "x"}))]}])
    files, problems = completed(given)
    assert problems == []
    assert files[0]["entries"][0]["entries"][0]["entries"] == [{"name": "f", "contents": "x", "type": "file"}]
    assert "type" not in given[0]["entries"][0]["entries"][0]["entries"][0]


def test_what_is_wrong_below_is_said_with_its_path_and_all_of_it() -> None:
    bad = directory("a", directory("b", {"name": "x/y"}, {"name": "z", "source": "s", "contents": "c"}), "text", {})
    _, problems = completed([{"entries": [{"name": "f", "type": "file"}, bad]}])
    path = "spec.createFiles[0].entries[1].entries"
    assert [problem.split(":")[0] for problem in problems] == [
        f"{path}[0].entries[0].name",
        f"{path}[0].entries[1]",
        f"{path}[1]",
        f"{path}[2].name",
    ]
    assert "only one of source, contents and rawContents can be set" in problems[1]
