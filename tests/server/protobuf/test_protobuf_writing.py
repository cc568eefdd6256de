"""What is written as protobuf is what Go would write for the same JSON, byte by byte."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects.codec import MAX_DEPTH
from setpoint.objects.tree import Json, Object
from setpoint.server.codec.protobuf import decode
from setpoint.server.codec.protobuf.kind_writer import KindWriter, cached_writer, kind_writer
from setpoint.server.codec.protobuf.message_table import META, SCALARS, MessageField, table
from setpoint.server.codec.protobuf.special_messages import SPECIAL
from setpoint.server.codec.protobuf.special_writers import SPECIAL_WRITERS
from setpoint.server.codec.protobuf.watch_event import watch_event
from setpoint.server.registry.builtin_resources import resources

from .bodies import body, cases, field, message_in, number, parts, watch_events

PAIRS = Path(__file__).parents[3].parent / "shared" / "protobuf"
OBJECTS = cases("objects.yaml")
# The depth of generated objects: of messages that contain themselves, too.
DEPTH = 6
DISCOVERY = {"APIVersions", "APIGroup", "APIGroupList", "APIResourceList", "Status"}


def writer(api_version: str, kind: str) -> KindWriter:
    found = kind_writer(api_version, kind)
    assert found is not None, (api_version, kind)
    return found


def encoded(tree: Object) -> bytes:
    return writer(tree["apiVersion"], tree["kind"]).object(json.dumps(tree, ensure_ascii=False).encode())


@pytest.mark.skipif(not PAIRS.is_dir(), reason="the sample objects are not beside the project")
def test_every_published_sample_is_written() -> None:
    wrong = []
    samples = sorted(PAIRS.glob("*.pb"))
    for sample in samples:
        tree = json.loads(sample.with_suffix(".json").read_bytes())
        # Go wrote embedded JSON without spaces. One sample has no kind in its envelope.
        compact = json.dumps(tree, separators=(",", ":")).encode()
        made = writer(tree.get("apiVersion", "v1"), tree.get("kind", "WatchEvent"))
        if "kind" in tree and made.object(compact) != sample.read_bytes():
            wrong.append(sample.stem)
        if made.message(compact) != message_in(sample.read_bytes()):
            wrong.append(f"{sample.stem}: the message")
    assert len(samples) > 150
    assert wrong == []


@pytest.mark.parametrize("case", OBJECTS, ids=lambda case: case["name"])
def test_an_object_of_client_go(case: dict[str, Any]) -> None:
    made = encoded(case["object"])
    assert decode(made) == case["object"]
    # The JSON inside schemas is written without spaces.
    respaced = case["object"]["kind"] == "CustomResourceDefinition" and b'": ' in case["body"]
    assert (made == case["body"]) is not respaced


def test_every_built_in_kind_and_its_list_have_a_message_whose_items_can_be_joined() -> None:
    for resource in resources():
        if resource.is_custom:
            continue
        writer(resource.api_version, resource.kind)
        if "list" not in resource.verbs:
            continue
        message = table().message_of(resource.api_version, resource.list_kind)
        assert message is not None, resource
        fields = [(field.number, field.name) for field in sorted(table().messages[message])]
        assert fields == [(1, "metadata"), (2, "items")], resource
    for kind in DISCOVERY:
        writer("v1", kind)
    for version in ("v1", "v1beta1"):
        writer(f"meta.k8s.io/{version}", "PartialObjectMetadata")
    assert not writer("meta.k8s.io/v1", "PartialObjectMetadataList").has_items_first
    assert writer("meta.k8s.io/v1beta1", "PartialObjectMetadataList").has_items_first


def test_every_special_message_is_both_read_and_written() -> None:
    assert SPECIAL_WRITERS.keys() == SPECIAL.keys()


def test_a_kind_without_a_message_has_no_writer() -> None:
    assert kind_writer("ex.com/v1", "Widget") is None
    assert kind_writer("", "") is None
    # Tables are JSON or YAML only.
    assert kind_writer("meta.k8s.io/v1", "Table") is None


def test_a_writer_is_made_once() -> None:
    assert writer("v1", "Node") is writer("v1", "Node") is cached_writer("v1", "Node")


# Trees as the server stores them


def names() -> st.SearchStrategy[str]:
    return st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


SCALAR_VALUES: dict[str, st.SearchStrategy[Json]] = {
    "string": names(),
    "bytes": st.sampled_from(["", "AA==", "/////w=="]),
    "bool": st.booleans(),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(allow_nan=False, allow_infinity=False),
}
RAW = st.recursive(
    names() | st.booleans() | st.integers(-(2**53), 2**53), lambda inner: st.dictionaries(names(), inner, max_size=2)
)
SPECIAL_VALUES: dict[str, st.SearchStrategy[Json]] = {
    "Time": st.sampled_from([None, "2026-01-02T03:04:05Z", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59Z"]),
    "MicroTime": st.sampled_from([None, "2026-01-02T03:04:05.000000Z", "1969-12-31T23:59:59.999999Z"]),
    "Quantity": st.sampled_from(["0", "100m", "1Gi", "12e6"]),
    "IntOrString": st.integers(-(2**31), 2**31 - 1) | names(),
    "RawExtension": RAW,
    "FieldsV1": st.dictionaries(names(), st.just({}), min_size=1, max_size=3),
    "JSON": RAW,
}


@st.composite
def values(draw: st.DrawFn, kind: str, depth: int) -> Json:
    short = kind.rpartition(".")[2]
    if kind in SCALARS:
        return draw(SCALAR_VALUES[kind])
    if short in SPECIAL_VALUES:
        return draw(SPECIAL_VALUES[short])
    if kind in SPECIAL:
        schema = kind.removesuffix(short) + "JSONSchemaProps"
        other: Json = draw(st.booleans()) if short.endswith("Bool") else [draw(names())]
        return other if short != "JSONSchemaPropsOrArray" and draw(st.booleans()) else draw(trees(schema, depth))
    fields = table().messages[kind]
    if fields and fields[0].stands_for_message:
        return draw(st.lists(values(fields[0].type, depth), max_size=3))
    return draw(trees(kind, depth))


@st.composite
def trees(draw: st.DrawFn, message: str, depth: int = DEPTH) -> Object:
    """Some fields of a message, in the JSON that is stored."""
    made: Object = {}
    known: list[MessageField] = table().messages[message]
    for each in draw(st.lists(st.sampled_from(known), max_size=4)) if depth and known else ():
        if each.is_embedded:
            made.update(draw(trees(each.type, depth - 1)))
        elif each.is_map:
            made[each.name] = draw(st.dictionaries(names(), values(each.type, depth - 1), max_size=3))
        elif each.is_list:
            made[each.name] = draw(st.lists(values(each.type, depth - 1), max_size=3))
        elif (value := draw(values(each.type, depth - 1))) != "" or each.type != "bytes":
            # The stored JSON omits empty bytes, as Go does.
            made[each.name] = value
    return made


KINDS = [
    (api_version, kind, message) for api_version, kinds in table().kinds.items() for kind, message in kinds.items()
]


@st.composite
def objects(draw: st.DrawFn) -> Object:
    api_version, kind, message = draw(st.sampled_from(KINDS))
    return {"apiVersion": api_version, "kind": kind, **draw(trees(message))}


def holds(found: Json, given: Json) -> bool:
    """Whether a value says all that another one says; absent values and zeros say the same."""
    if isinstance(given, dict):
        return all(holds(found.get(name) if isinstance(found, dict) else None, value) for name, value in given.items())
    if isinstance(given, list):
        others = found or []
        return len(others) == len(given) and all(map(holds, others, given))
    return found == given or (not found and not given)


@given(objects())
@pytest.mark.slow
def test_what_is_written_says_the_same_when_it_is_read(tree: Object) -> None:
    made = encoded(tree)
    found = decode(made)
    assert holds(found, tree), (found, tree)
    # In the form that Go writes, every zero is present: the bytes stay the same.
    assert encoded(found) == made


@given(st.sampled_from(OBJECTS), st.binary(max_size=40))
def test_the_order_of_keys_and_absent_fields_do_not_matter(case: dict[str, Any], seed: bytes) -> None:
    def shuffled(value: Json) -> Json:
        if isinstance(value, dict):
            order = sorted(value, key=lambda name: (hash((name, seed)), name))
            return {name: shuffled(value[name]) for name in order if value[name] is not None}
        return [shuffled(each) for each in value] if isinstance(value, list) else value

    # The text of managed fields is embedded, and keeps its order.
    tree = {**case["object"], "metadata": {**case["object"].get("metadata", {}), "managedFields": []}}
    assert encoded(shuffled(tree)) == encoded(tree)


# Single messages


def test_fields_are_in_the_order_of_their_numbers_and_zeros_are_written() -> None:
    made = message_in(
        encoded({"apiVersion": "v1", "kind": "ConfigMap", "immutable": False, "data": {"b": "", "a": "1"}})
    )
    meta = b"".join(field(tag, b"") for tag in range(1, 7)) + b"\x38\0" + field(8, b"")
    first, second = field(1, b"a") + field(2, b"1"), field(1, b"b") + field(2, b"")
    assert made == field(1, meta) + field(2, first) + field(2, second) + b"\x20\0"


def test_null_is_a_zero() -> None:
    tree = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": None,
        "spec": {"containers": [None], "nodeSelector": {"a": None}},
    }
    whole = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{}], "nodeSelector": {"a": ""}}}
    assert encoded(tree) == encoded(whole)
    secret = {"apiVersion": "v1", "kind": "Secret", "data": {"a": None}}
    assert parts(message_in(encoded(secret)))[1].data == field(2, field(1, b"a"))
    owned = {"apiVersion": "v1", "kind": "Pod", "metadata": {"managedFields": [{"fieldsV1": None}]}}
    assert decode(encoded(owned))["metadata"] == {"managedFields": [{}]}


@pytest.mark.parametrize("text", ["é", "日本", "\u2028", "\x7f", "\x01", "ÿ", "😀", "a" * 127, "a" * 128, "é" * 70_000])
@pytest.mark.parametrize("escaped", [True, False])
def test_texts_are_utf_8_with_the_number_of_their_bytes(text: str, escaped: bool) -> None:
    tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": text}, "data": {text: text}}
    made = writer("v1", "ConfigMap").message(json.dumps(tree, ensure_ascii=escaped).encode())
    assert field(1, text.encode()) in made
    assert parts(made)[1].data == field(2, field(1, text.encode()) + field(2, text.encode()))


@pytest.mark.parametrize("value", [0, 1, 127, 128, 1023, 1024, 16_384, 2**31 - 1, -1, -(2**31)])
def test_a_number_is_written_in_its_shortest_form(value: int) -> None:
    tree = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": value}}
    spec = parts(message_in(encoded(tree)))[1].data
    assert parts(spec[2:])[0].data == b"\x08" + number(value % 2**64)


def test_schemas_may_be_nested() -> None:
    schema: Object = {}
    for _ in range((MAX_DEPTH - 20) // 2):
        schema = {"properties": {"é": schema, "default": {"default": {"é": 1.5, "a": None}}}}
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}, "served": True, "storage": True}
    tree = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "spec": {"versions": [version]},
    }
    found = decode(encoded(tree))["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert holds(found, schema)


def test_a_frame_of_a_watch_has_its_length_and_an_event() -> None:
    small, large = body("v1", "Pod", b""), body("v1", "Pod", bytes(70_000))
    stream = watch_event("ADDED", small) + watch_event("MODIFIED", large) + watch_event("DELETED", small)
    assert watch_events(stream) == [("ADDED", small), ("MODIFIED", large), ("DELETED", small)]


def test_a_message_in_pieces_is_the_same() -> None:
    made = writer("v1", "PodList")
    for size in (0, 100, 1000, 20_000):
        pieces = [bytes(size), b"", b"x" * size]
        assert b"".join(made.enclosed_pieces(pieces)) == made.enclosed(b"".join(pieces))
    assert META in (table().message_of("v1", "Status") or "")
