"""The outputs of a state: the namespaces of the objects that it wants to be deleted."""

from typing import Any

import pytest
from tests.flow.fsm.worlds import Bucket, bucket

from setpoint.flow.fsm import Outputs
from setpoint.schema.types.resource import Resource


class Region(Resource, group="example.com", version="v1", scope="Cluster"):
    """A kind without a namespace."""


@pytest.mark.parametrize(
    ("kind", "namespace", "found"),
    [
        ("v1/ConfigMap", "", "default"),
        ("v1/ConfigMap", "other", "other"),
        (Bucket, "other", "other"),
        (Bucket, "", "default"),
        (Region, "", ""),
    ],
)
def test_an_object_to_delete_is_in_the_given_namespace_or_in_that_of_its_owner(
    kind: Any, namespace: str, found: str
) -> None:
    out = Outputs(bucket().to_json())
    out.delete(kind, "a", namespace)
    [unwanted] = out.unwanted
    assert (unwanted.name, unwanted.namespace) == ("a", found)


def test_an_object_to_delete_is_given_by_itself() -> None:
    out = Outputs(bucket().to_json())
    for namespace in ("", "other"):
        out.delete({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": namespace}})
    assert [(each.name, each.namespace) for each in out.unwanted] == [("a", "default"), ("a", "other")]
