"""No key of a Compose service is dropped silently: each changes the objects, or is reported with its line."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.app.compose.schema_keys import FILES, Sample, samples

from setpoint.app.environment import AppEnvironment
from setpoint.app.from_compose.reading import read_compose
from setpoint.app.render import render
from setpoint.objects.tree import Object
from setpoint.objects.typedyaml import Mistake, Mistakes

_SAMPLES = list(samples())
# Values that differ from the default, for keys with a sample that equals the default.
_OTHER = {
    "attach": False,
    "depends_on.*.required": False,
    "deploy.replicas": 2,
    "deploy.restart_policy.condition": "on-failure",
    "volumes.[].bind": {"propagation": "rslave"},
    "volumes.[].bind.create_host_path": False,
    "volumes.[].bind.recursive": "disabled",
}
_LINE = re.compile(r"compose\.yaml:\d+:\d+$")
# Keys without an effect on containers: fields of other formats, and defaults of Compose itself.
_WITHOUT_EFFECT = {
    "networks.*.priority": "orders several networks; see test_conversion.py",
    "profiles": "all profiles are enabled; see test_conversion.py",
    "x-own": "extensions are ignored by Compose, too",
    "extends": "the resolver merges the other service",
    "extends.service": "the resolver merges the other service",
    "extends.file": "the resolver merges the other service",
    "env_file": "the resolver reads the file, which is absent in the sample",
    "env_file.[].path": "the resolver reads the file, which is absent in the sample",
    "env_file.[].required": "the resolver reads the file, which is absent in the sample",
    "env_file.[].format": "the resolver reads the file, which is absent in the sample",
}


def rendered(directory: Path, project: dict[str, Any]) -> tuple[list[Object], list[Mistake]]:
    """The objects of a project, and what is reported."""
    directory.mkdir(exist_ok=True)
    for name, text in FILES.items():
        (directory / name).write_text(text)
    (directory / "compose.yaml").write_text(yaml.safe_dump(project, sort_keys=False))
    try:
        app, _, _, where, _, notes, variables, _ = read_compose(directory, {"HIDDEN": "x"}, profiles=("*",))
        objects = render(app, AppEnvironment(str(directory), variables or {}), where)
    except Mistakes as mistakes:
        return [], list(mistakes.found)
    return objects, list(notes)


def changed(project: Any, path: str, value: Any = None) -> Any:
    """The project with another value of the key at a path of its service, or without the key."""
    made = json.loads(json.dumps(project))
    *steps, last = path.split(".")
    here: Any = made["services"]["app"]
    for step in steps:
        here = here[0] if step == "[]" else next(iter(here.values())) if step == "*" else here[step]
    here[last] = value
    if value is None:
        del here[last]
    return made


@pytest.mark.parametrize("sample", _SAMPLES, ids=lambda sample: sample.path)
def test_a_key_has_an_effect_or_is_reported_with_its_line(tmp_path: Path, sample: Sample) -> None:
    if sample.path in _WITHOUT_EFFECT:
        pytest.skip(_WITHOUT_EFFECT[sample.path])
    given = sample.project
    if sample.path in _OTHER:
        given = changed(given, sample.path, _OTHER[sample.path])
    objects, notes = rendered(tmp_path, given)
    other, _ = rendered(tmp_path, changed(sample.project, sample.path))
    key = f"services.app.{sample.path.split('.')[0]}"
    reported = [note for note in notes if note.path.startswith(key) and _LINE.search(note.where)]
    assert objects != other or reported, "dropped silently"
    assert all(_LINE.search(note.where) for note in notes)
