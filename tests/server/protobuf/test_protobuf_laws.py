"""What holds for every body: it is read or refused, and how its fields are laid out does not matter."""

from collections.abc import Iterator
from itertools import groupby
from random import Random
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects.codec import check_tree
from setpoint.objects.errors import BadRequest
from setpoint.server.codec.protobuf import decode
from setpoint.server.codec.protobuf.generate import reader
from setpoint.server.codec.protobuf.message_table import SCALARS, nests, table
from setpoint.server.codec.protobuf.wire import MalformedError, int32, int64, varint

from .bodies import body, cases, content, field, message_in, number, parts

Case: TypeAlias = dict[str, Any]
Kinds: TypeAlias = tuple[str, dict[str, str]]

OBJECTS = cases("objects.yaml")
bodies = st.sampled_from([case["body"] for case in OBJECTS])
objects = st.sampled_from(OBJECTS)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """The body of an object with bytes changed, put in, cut out or cut off."""
    data = bytearray(draw(bodies))
    for _ in range(draw(st.integers(1, 5))):
        place = draw(st.integers(0, len(data)))
        match draw(st.integers(0, 3)):
            case 0:
                data[place : place + 1] = bytes([draw(st.integers(0, 255))])
            case 1:
                data[place:place] = draw(st.binary(max_size=6))
            case 2:
                del data[place : place + draw(st.integers(1, 6))]
            case _:
                del data[place:]
    return bytes(data)


def is_read_or_refused(data: bytes) -> None:
    try:
        tree = decode(data)
    except BadRequest:
        return
    check_tree(tree)


@given(damaged())
def test_a_damaged_body_is_read_or_refused(data: bytes) -> None:
    is_read_or_refused(data)


@given(st.sampled_from(sorted(table().kinds.items())), st.randoms(use_true_random=False), st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_as_any_kind(entry: Kinds, random: Random, message: bytes) -> None:
    api_version, kinds = entry
    is_read_or_refused(body(api_version, random.choice(sorted(kinds)), message))


@pytest.mark.parametrize("api_version", sorted(table().kinds))
def test_every_message_can_be_empty_and_every_field_can_be_given(api_version: str) -> None:
    for kind, message in table().kinds[api_version].items():
        check_tree(decode(body(api_version, kind, b"")))
        for known in table().messages[message]:
            if known.type not in SCALARS:
                check_tree(decode(body(api_version, kind, field(known.number, b""))))


def envelope_of(case: Case, message: bytes) -> bytes:
    return body(case["object"]["apiVersion"], case["object"]["kind"], message)


@given(objects, st.randoms(use_true_random=False))
def test_the_order_of_fields_does_not_matter(case: Case, random: Random) -> None:
    # Elements of a list stay in their order; whole fields change places.
    fields = [list(same) for _, same in groupby(parts(message_in(case["body"])), key=lambda part: part.number)]
    random.shuffle(fields)
    message = b"".join(part.data for same in fields for part in same)
    assert decode(envelope_of(case, message)) == case["object"]


@given(objects, st.integers(1000, 2**29 - 1), st.integers(0, 2**64 - 1), st.data())
def test_unknown_fields_are_passed_over(case: Case, unknown: int, value: int, data: st.DataObject) -> None:
    made = [part.data for part in parts(message_in(case["body"]))]
    strange = data.draw(
        st.sampled_from(
            [
                number(unknown << 3) + number(value),
                number(unknown << 3 | 1) + bytes(8),
                field(unknown, b"text"),
                number(unknown << 3 | 3) + b"\x08\x01" + number(unknown << 3 | 4),
                number(unknown << 3 | 5) + bytes(4),
            ]
        )
    )
    made.insert(data.draw(st.integers(0, len(made))), strange)
    assert decode(envelope_of(case, b"".join(made))) == case["object"]


@given(objects, st.data())
def test_a_message_in_two_parts_is_one(case: Case, data: st.DataObject) -> None:
    def split() -> Iterator[bytes]:
        for part in parts(message_in(case["body"])):
            inner = parts(content(part)) if part.number == 1 and "metadata" in case["object"] else []
            if not inner:
                yield part.data
                continue
            at = data.draw(st.integers(0, len(inner)))
            for some in (inner[:at], inner[at:]):
                yield field(1, b"".join(piece.data for piece in some))

    assert decode(envelope_of(case, b"".join(split()))) == case["object"]


def test_the_last_of_several_values_counts_even_when_it_is_empty() -> None:
    meta = field(1, b"a") + field(3, b"n") + field(1, b"")
    assert decode(body("v1", "ConfigMap", field(1, meta)))["metadata"] == {"namespace": "n"}
    assert decode(body("v1", "ConfigMap", field(1, field(1, b"a")) + field(1, field(1, b"b"))))["metadata"] == {
        "name": "b"
    }


def test_numbers_of_a_list_may_be_packed() -> None:
    groups = field(4, number(1) + number(300)) + number(4 << 3) + number(2)
    found = decode(body("v1", "Pod", field(2, field(14, groups))))
    assert found["spec"]["securityContext"] == {"supplementalGroups": [1, 300, 2]}


@given(st.integers(-(2**63), 2**63 - 1))
def test_numbers_keep_their_bits(value: int) -> None:
    data = number(value % 2**64)
    assert int64(data, 0, len(data)) == (value, len(data))
    assert int32(data, 0, len(data))[0] == (value + 2**31) % 2**32 - 2**31


@given(st.binary(min_size=1, max_size=14), st.integers(0, 14))
def test_a_number_is_never_read_beyond_the_end(data: bytes, end: int) -> None:
    end = min(end, len(data))
    try:
        _, stop = varint(data + bytes(4), 0, end)
    except MalformedError:
        return
    assert stop <= end


def test_messages_that_do_not_contain_themselves_are_not_nested_deep() -> None:
    # The decoder counts on it, and looks for trees that are too deep only where there is more to find.
    def depth(message: str) -> int:
        inner = {field.type for field in table().messages[message]} - SCALARS
        # A map or a list around each message, and one object more for what stands in it.
        return 2 + max(map(depth, inner), default=0)

    kinds = {message for kinds in table().kinds.values() for message in kinds.values()}
    assert max(depth(message) for message in kinds if not nests(message)) < 64
    assert {message.rpartition(".")[2] for message in kinds if nests(message)} == {
        "CustomResourceDefinition",
        "CustomResourceDefinitionList",
        "Workload",
        "WorkloadList",
    }


def test_a_function_is_made_once() -> None:
    decode(OBJECTS[0]["body"])
    assert reader("k8s.io.api.core.v1.Pod") is reader("k8s.io.api.core.v1.Pod")
