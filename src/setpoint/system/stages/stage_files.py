"""The files of stages, as `--stages` names them."""

from collections.abc import Iterable
from pathlib import Path

from setpoint.client.manifests import parse_yaml
from setpoint.objects.tree import Object
from setpoint.system.node_setting import NodeSetting, with_stages

# The value that stands for Stage objects of the API.
API = "api"
_MOST_BYTES = 1 << 20


def nodes_with_files(nodes: NodeSetting, names: Iterable[str]) -> NodeSetting:
    """Returns a setting with the stages of files; `api` stands for Stage objects of the API. Raises ValueError with the
    file, the field and the remedy."""
    trees: list[Object] = []
    given = list(names)
    for name in given:
        if name != API:
            trees += _read(Path(name))
    return with_stages(nodes, trees, stage_objects=API in given)


def _read(path: Path) -> list[Object]:
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ValueError(f"stages: cannot read {path}: {error.strerror}; give a file of Stages, or {API}") from None
    if len(text) > _MOST_BYTES:
        raise ValueError(f"stages: {path} is longer than {_MOST_BYTES} bytes: give several files")
    try:
        return parse_yaml(text)
    except ValueError as error:
        raise ValueError(f"stages: {path}: {error}") from None
