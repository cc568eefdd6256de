"""What the page about workloads shows as YAML is what the server takes."""

import asyncio
import re
from pathlib import Path
from typing import cast

import pytest

import setpoint as sp
from setpoint.objects import yamltext
from setpoint.objects.tree import Object
from setpoint.workload.kinds.definitions import install

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs/workloads.md"
_BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
OBJECTS: list[Object] = [
    cast(Object, document.tree) for block in _BLOCK.findall(PAGE.read_text()) for document in yamltext.load_all(block)
]


@pytest.mark.parametrize("tree", OBJECTS, ids=lambda tree: f"{tree['kind']}-{tree['metadata']['name']}")
def test_an_object_of_the_page_is_taken_as_it_stands(tree: Object) -> None:
    async def main() -> None:
        async with sp.ControlPlane(system=False) as plane, plane.client() as client:
            await install(client)
            # An unknown field is an error here, not a word in a header.
            made = await client.create(tree, field_validation="Strict", dry_run=True)
            assert made["metadata"]["uid"]

    asyncio.run(main())


def test_there_are_some_of_every_sort() -> None:
    assert {tree["kind"] for tree in OBJECTS} >= {"Executable", "Container", "Service", "Task"}
