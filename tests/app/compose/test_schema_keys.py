"""Each key of the schema has a sample that the resolver accepts, and that keeps the key."""

import json
from pathlib import Path

import pytest
from tests.app.compose.schema_keys import FILES, Sample, samples

from setpoint.app.compose.resolver import resolve
from setpoint.app.compose.schema import specification

_SAMPLES = list(samples())


@pytest.mark.parametrize("sample", _SAMPLES, ids=lambda sample: sample.path)
def test_a_sample_is_a_valid_project(sample: Sample) -> None:
    files = {f"/sample/{name}": text for name, text in FILES.items()}
    files["/sample/compose.yaml"] = json.dumps(sample.project)

    project = resolve([], directory=Path("/sample"), read=files.get, environ={"HIDDEN": "x"}, profiles=["*"])
    service = project.services["app"]

    key = sample.path.partition(".")[0]
    # The attributes of an extended service are merged, and extensions are no attributes.
    assert key in service or key in ("extends", "x-own")


def test_there_is_a_sample_for_each_key_of_a_service() -> None:
    service = specification().properties["services"].patterns[0][1]

    assert {sample.path for sample in _SAMPLES} >= set(service.properties)
