"""Files with stages: reading, and the mistakes that the server reports at its start."""

import os
from pathlib import Path

import pytest
import yaml
from tests.system.stages.stage_trees import stages

from setpoint.system.node_setting import NO_NODES, parse_nodes
from setpoint.system.stages.stage_files import nodes_with_files


def test_the_stages_of_files_and_of_the_api(tmp_path: Path) -> None:
    path = tmp_path / "stages.yaml"
    path.write_text(yaml.safe_dump_all(stages("ready", "delete")))
    found = nodes_with_files(parse_nodes("simulated"), [str(path), "api"])
    assert [each["metadata"]["name"] for each in found.stages] == ["ready", "delete"]
    assert found.has_stage_objects
    assert nodes_with_files(NO_NODES, []) is NO_NODES


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot read .*: No such file or directory; give a file of Stages, or api"),
        ("kind: Pod\napiVersion: v1\nmetadata: {name: a}\n", "is not a Stage"),
        ("- 1\n", "stages.yaml"),
        ("a" * (1 << 20) + "a", "longer than 1048576 bytes"),
    ],
)
def test_a_mistake_names_the_file_or_the_stage(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "stages.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ValueError, match=message):
        nodes_with_files(parse_nodes("simulated"), [str(path)])


def test_a_file_without_the_right_to_read_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot read .*: Is a directory"):
        nodes_with_files(parse_nodes("simulated"), [os.fspath(tmp_path)])


def test_stages_need_nodes(tmp_path: Path) -> None:
    path = tmp_path / "stages.yaml"
    path.write_text(yaml.safe_dump_all(stages("ready")))
    with pytest.raises(ValueError, match="stages need simulated nodes: add --nodes simulated"):
        nodes_with_files(NO_NODES, [str(path)])
