"""`setpoint mcp init`: the files of assistants."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from setpoint.cli.main import main


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def init(*options: str) -> Result:
    return CliRunner().invoke(main, ["mcp", "init", *options])


def test_the_file_of_a_project_is_written(directory: Path) -> None:
    assert init().exit_code == 0
    assert json.loads((directory / ".mcp.json").read_text()) == {
        "mcpServers": {"setpoint": {"command": "setpoint", "args": ["mcp"]}}
    }


def test_other_servers_and_fields_stay(directory: Path) -> None:
    place = directory / ".vscode" / "mcp.json"
    place.parent.mkdir()
    place.write_text(json.dumps({"inputs": [1], "servers": {"other": {"command": "é"}}}))
    place.chmod(0o600)
    assert init("--allow-writes", "--session=shop").exit_code == 0
    own = {"type": "stdio", "command": "setpoint", "args": ["mcp", "--session=shop", "--allow-writes"]}
    assert json.loads(place.read_text()) == {"inputs": [1], "servers": {"other": {"command": "é"}, "setpoint": own}}
    assert place.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in directory.rglob("*mcp*")] == ["mcp.json"]


def test_a_second_time_changes_no_byte_and_another_entry_needs_force(directory: Path) -> None:
    place = directory / ".mcp.json"
    init()
    before = place.read_bytes()
    assert init().exit_code == 0
    assert place.read_bytes() == before
    refused = init("--allow-writes")
    assert refused.exit_code == 7
    assert "has another entry 'setpoint': remove that, or use --force" in refused.stderr
    assert place.read_bytes() == before
    assert init("--allow-writes", "--force").exit_code == 0
    assert json.loads(place.read_text())["mcpServers"]["setpoint"]["args"] == ["mcp", "--allow-writes"]


@pytest.mark.parametrize("content", ["[]", "// comment\n{}", "", '{"mcpServers": []}'])
def test_a_file_of_another_form_is_not_changed(directory: Path, content: str) -> None:
    place = directory / ".mcp.json"
    place.write_text(content)
    refused = init()
    assert refused.exit_code == 1
    assert "add by hand" in refused.stderr or "correct the file" in refused.stderr
    assert place.read_text() == content


def test_clients_are_found_by_their_directories_or_chosen(directory: Path) -> None:
    for name in (".cursor", ".vscode"):
        (directory / name).mkdir()
    init()
    assert sorted(str(each.relative_to(directory)) for each in directory.rglob("*.json")) == [
        ".cursor/mcp.json",
        ".vscode/mcp.json",
    ]
    init("--client", "claude")
    assert (directory / ".mcp.json").exists()


def test_the_entry_can_be_printed_instead(directory: Path) -> None:
    printed = init("--print", "--client=vscode")
    assert json.loads(printed.stdout)["servers"]["setpoint"]["type"] == "stdio"
    assert list(directory.iterdir()) == []
