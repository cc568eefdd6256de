"""The stages of the tests, by name."""

from copy import deepcopy
from pathlib import Path

import yaml

from setpoint.objects.tree import Object

_ALL = yaml.safe_load((Path(__file__).parent / "stages.yaml").read_text())


def stages(*names: str) -> list[Object]:
    """Returns copies of stages."""
    return [deepcopy(_ALL[name]) for name in names]
