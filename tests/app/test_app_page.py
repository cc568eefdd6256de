"""The page about the app file is true: what it shows is rendered, and its list of fields is that of the structs."""

import re
from pathlib import Path

import pytest
from tests.app.apps import rendered, written
from tests.workload.kinds.conftest import Plane

from setpoint.app.document import HEADING, fields_markdown

PAGE = Path(__file__).parents[2] / "docs" / "app-file.md"
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.example.com}
spec:
  group: example.com
  names: {kind: Shop, plural: shops}
  scope: Cluster
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
"""
FILES = {
    ".env": "DB=x\n",
    "crds/shop.yaml": DEFINITION,
    "demo/config.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default}}",
}


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.splitlines()[1].strip()[:20])
def test_every_file_on_the_page_becomes_objects_that_the_server_takes(
    tmp_path: Path, served: Plane, block: str
) -> None:
    objects = rendered(written(tmp_path, block, FILES), {"API_TOKEN": "t"})
    assert objects
    for tree in objects:
        served.run(served.client.create(tree, dry_run=True))


def test_the_list_of_fields_is_in_step_with_the_structs() -> None:
    _, heading, rest = PAGE.read_text().partition(HEADING)
    assert heading + rest == fields_markdown(), "write it anew: python -m tools.app_page"
