"""Bodies that are no protobuf, or not that of the kind they claim, are refused in Go's words and in bounded time."""

from typing import Any

import pytest

from setpoint.objects import codec
from setpoint.objects.errors import BadRequest, RequestEntityTooLarge
from setpoint.objects.gvk import GroupVersionKind
from setpoint.server.codec.protobuf import decode
from setpoint.server.codec.protobuf.wire import MAX_ELEMENTS

from .bodies import body, cases, field, number

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


def refusal(data: bytes, default: GroupVersionKind | None = None) -> str:
    with pytest.raises(BadRequest) as caught:
        decode(data, default)
    return caught.value.message


@pytest.mark.parametrize("case", cases("malformed.yaml"), ids=lambda case: case["name"])
def test_refused_as_go_refuses_it(case: dict[str, Any]) -> None:
    assert refusal(case["body"]) == case["error"]


def test_a_body_without_an_envelope_is_not_recognized_as_what_the_endpoint_takes() -> None:
    assert refusal(b'{"kind":"ConfigMap"}', CONFIG_MAP) == (
        "the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a "
        'protobuf message, expected prefix [107 56 115 0] ({"kind":"ConfigMap"})'
    )


def test_a_message_that_is_broken_cannot_be_handled() -> None:
    broken = body("v1", "Secret", b"\x0a\x05")
    assert refusal(broken, CONFIG_MAP) == ('Secret in version "v1" cannot be handled as a ConfigMap: unexpected EOF')


def test_a_kind_nobody_knows() -> None:
    assert refusal(body("ex.com/v1", "Widget", b""), CONFIG_MAP) == (
        'Widget in version "v1" cannot be handled as a ConfigMap: no kind "Widget" is registered for version '
        '"ex.com/v1" in scheme "pkg/api/legacyscheme/scheme.go:30"'
    )


@pytest.mark.parametrize(
    ("api_version", "kind", "missing"),
    [("", "", "Kind"), ("v1", "", "Kind"), ("", "ConfigMap", "apiVersion"), ("a/b/c", "ConfigMap", "apiVersion")],
)
def test_a_kind_that_neither_the_body_nor_the_endpoint_tells(api_version: str, kind: str, missing: str) -> None:
    assert refusal(body(api_version, kind, b"")).startswith(f"Object '{missing}' is missing in ")


def test_an_api_version_that_is_none_is_that_of_the_endpoint() -> None:
    assert decode(body("a/b/c", "ConfigMap", field(2, field(1, b"k"))), CONFIG_MAP)["data"] == {"k": ""}


def test_a_text_must_be_utf_8() -> None:
    assert refusal(body("v1", "ConfigMap", field(1, field(1, b"\xff")))) == (
        "invalid UTF-8 in a string: invalid start byte"
    )


@pytest.mark.parametrize("raw", [b"", b"{", b"[1]]", b"k8s\0"])
def test_raw_json_must_be_json(raw: bytes) -> None:
    with pytest.raises(BadRequest):
        decode(body("apps/v1", "ControllerRevision", field(2, field(1, raw))))


@pytest.mark.parametrize("seconds", [2**63 - 1, 2**63, 253_402_300_800])
def test_a_time_must_have_a_year_of_four_digits(seconds: int) -> None:
    time = field(1, field(8, b"\x08" + number(seconds)))
    assert refusal(body("v1", "ConfigMap", time)) == "Time: year outside of range [1,9999]"


def test_a_port_is_nothing_but_a_number_or_a_name() -> None:
    service = body("v1", "Service", field(2, field(1, field(4, b"\x08\x02"))))
    assert refusal(service) == "impossible IntOrString.Type"


@pytest.mark.parametrize("value", [b"\0\0\0\0\0\0\xf0\x7f", b"\0\0\0\0\0\0\xf8\x7f"], ids=["infinity", "not a number"])
def test_numbers_must_be_finite(value: bytes) -> None:
    schema = number(9 << 3 | 1) + value
    assert refusal(definition(schema)) == "json: unsupported value: a number must be finite"


def test_a_tag_must_be_in_its_shortest_form() -> None:
    assert refusal(body("v1", "ConfigMap", b"\x8a\x00\x00")) == (
        "proto: ConfigMap: the tag of field ObjectMeta is not in its shortest form"
    )


def definition(schema: bytes) -> bytes:
    """A CustomResourceDefinition with a schema."""
    version = field(7, field(4, field(1, schema)))
    return body("apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, version))


def nested(levels: int) -> bytes:
    """A schema whose `not` has a schema whose `not` has ..."""
    schema = b""
    for _ in range(levels):
        schema = field(28, schema)
    return schema


def test_schemas_may_be_nested() -> None:
    found = decode(definition(nested(100)))["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for _ in range(100):
        found = found["not"]
    assert found == {}


@pytest.mark.parametrize("levels", [codec.MAX_DEPTH, 5000])
def test_schemas_nested_too_deep(levels: int) -> None:
    assert refusal(definition(nested(levels))) == codec.TOO_DEEP


def test_json_nested_too_deep_counts_from_the_outside() -> None:
    depth = codec.MAX_DEPTH
    raw = b"[" * (depth - 1) + b"]" * (depth - 1)
    assert decode(body("apps/v1", "ControllerRevision", field(2, field(1, raw))))["data"]
    raw = b"[" * depth + b"]" * depth
    assert refusal(body("apps/v1", "ControllerRevision", field(2, field(1, raw)))) == codec.TOO_DEEP


def test_messages_in_lists_are_counted_in_the_whole_body() -> None:
    # Containers with ports: two bytes each, and half a kilobyte each as JSON.
    def pod(containers: int, ports: int) -> bytes:
        return body("v1", "Pod", field(2, field(2, field(6, b"") * ports) * containers))

    assert len(decode(pod(100, 998))["spec"]["containers"]) == 100
    for too_many in (pod(100, 1000), pod(MAX_ELEMENTS + 1, 0)):
        assert refusal(too_many) == "a body may have at most 100000 messages in lists"


def test_groups_in_groups_are_passed_over() -> None:
    groups = b"\x83\x7d" * 100_000 + b"\x84\x7d" * 100_000
    assert decode(body("v1", "ConfigMap", groups)) == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}


def test_a_body_beyond_the_limit() -> None:
    with pytest.raises(RequestEntityTooLarge):
        decode(b"k8s\0" + bytes(codec.MAX_BODY))
