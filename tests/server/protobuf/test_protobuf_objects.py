"""What a protobuf body says is what Go would write as JSON for it."""

import json
from pathlib import Path
from typing import Any

import pytest

from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import copy
from setpoint.server.codec.protobuf import decode
from setpoint.server.codec.protobuf.message_table import META, table
from setpoint.server.codec.protobuf.special_messages import SPECIAL
from setpoint.server.registry.builtin_resources import resources

from .bodies import body, cases, field

PAIRS = Path(__file__).parents[3].parent / "shared" / "protobuf"
OBJECTS = cases("objects.yaml")
SERVED = {resource.gvk: resource for resource in resources()}
SENT = [case for case in OBJECTS if GroupVersionKind.of(case["sent"]) in SERVED]


@pytest.mark.skipif(not PAIRS.is_dir(), reason="the sample objects are not beside the project")
def test_every_published_sample_is_read() -> None:
    wrong = []
    samples = sorted(PAIRS.glob("*.pb"))
    for sample in samples:
        # One sample has no kind in its envelope: what the endpoint takes decides.
        found = decode(sample.read_bytes(), GroupVersionKind("", "v1", "WatchEvent"))
        if found != json.loads(sample.with_suffix(".json").read_bytes()):
            wrong.append(sample.stem)
    assert samples
    assert wrong == []


@pytest.mark.parametrize("case", OBJECTS, ids=lambda case: case["name"])
def test_an_object_of_client_go(case: dict[str, Any]) -> None:
    assert decode(case["body"]) == case["object"]


def test_the_kind_comes_first() -> None:
    assert list(decode(OBJECTS[1]["body"]))[:2] == ["apiVersion", "kind"]


def test_a_body_without_a_kind_is_what_the_endpoint_takes_and_leaves_the_kind_to_it() -> None:
    message = field(2, field(1, b"k") + field(2, b"v"))
    found = decode(b"k8s\0" + field(2, message), GroupVersionKind("", "v1", "ConfigMap"))
    assert found == {"metadata": {}, "data": {"k": "v"}}


def test_a_body_that_says_its_kind_is_no_other() -> None:
    found = decode(body("v1", "Secret", field(3, b"Opaque")), GroupVersionKind("", "v1", "ConfigMap"))
    assert found == {"apiVersion": "v1", "kind": "Secret", "metadata": {}, "type": "Opaque"}


@pytest.mark.parametrize("api_version", ["v1", "apps/v1", "meta.k8s.io/v1", "widgets.example.com/v1alpha1"])
def test_options_of_a_deletion_belong_to_every_group(api_version: str) -> None:
    found = decode(body(api_version, "DeleteOptions", b"\x08\x00"))
    assert found == {"apiVersion": api_version, "kind": "DeleteOptions", "gracePeriodSeconds": 0}


def test_every_message_with_a_json_of_its_own_is_known_by_its_full_name() -> None:
    # No kind has a duration so far; one that gets some is read right at once.
    assert SPECIAL.keys() - table().messages.keys() == {f"{META}.Duration"}
    assert SPECIAL[f"{META}.Duration"].convert({"duration": 90_000_000_000}) == "1m30s"


def test_values_of_two_decodes_are_not_shared() -> None:
    first, second = decode(OBJECTS[1]["body"]), decode(OBJECTS[1]["body"])
    first["spec"]["template"]["spec"]["containers"].clear()
    assert second == OBJECTS[1]["object"]


@pytest.mark.parametrize("case", SENT, ids=lambda case: case["name"])
def test_an_object_is_the_same_whether_it_comes_as_json_or_as_protobuf(case: dict[str, Any]) -> None:
    resource = SERVED[GroupVersionKind.of(case["sent"])]
    from_json, from_protobuf = copy(case["sent"]), decode(case["body"])
    for tree in (from_json, from_protobuf):
        assert resource.shape.normalize(tree) == []
        resource.strategy.default(tree)
        resource.shape.normalize_stored(tree)
    assert from_json == from_protobuf
