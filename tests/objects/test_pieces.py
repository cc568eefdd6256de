"""JSON in many calls gives the trees and the bytes of one call."""

import random

import msgspec
import pytest

from setpoint.objects import pieces, sorted_json

# Runs hundreds of random cases.
pytestmark = pytest.mark.slow


def _tree(rng: random.Random, size: int) -> object:
    def value(depth: int) -> object:
        kind = rng.randrange(8 if depth < 5 else 4)
        if kind < 4:
            return rng.choice(["", "text", "ü\U0001f600", 1, -7, 2.5, True, None])
        width = rng.choice([0, 1, 3])
        if kind < 6:
            return [value(depth + 1) for _ in range(width)]
        return {f"k{rng.randrange(99)}": value(depth + 1) for _ in range(width)}

    return {
        "wide": {f"n{number}": value(0) for number in range(size)},
        "list": [value(0) for _ in range(size)],
        "deep": {"a": {"b": [[value(0) for _ in range(size)]]}},
        "small": value(0),
    }


@pytest.mark.parametrize("seed", range(3))
def test_large_trees_are_read_and_written_as_in_one_call(seed: int) -> None:
    tree = _tree(random.Random(seed), 20_000)
    data = msgspec.json.encode(tree)
    assert data.count(b"{") + data.count(b"[") > 20_000
    assert pieces.decode(data) == tree
    assert pieces.decode(b" \n" + msgspec.json.format(data, indent=1)) == tree
    assert pieces.encode(tree) == data
    assert pieces.encode_sorted(tree) == sorted_json.encode_sorted(tree)


def test_the_last_of_a_repeated_key_counts() -> None:
    many = b",".join([b"[]"] * 30_000)
    assert pieces.decode(b'{"a":[%b],"b":[%b],"a":1}' % (many, many)) == {"a": 1, "b": [[]] * 30_000}


@pytest.mark.parametrize("fault", [b'{"a":}', b"[1,]", b'"\xff"', b"nul"])
def test_a_fault_is_told_as_in_one_call(fault: bytes) -> None:
    data = b'{"many":[%b],"x":%b}' % (b",".join([b"{}"] * 40_000), fault)
    with pytest.raises((msgspec.MsgspecError, UnicodeDecodeError)) as one_call:
        msgspec.json.decode(data)
    with pytest.raises((msgspec.MsgspecError, UnicodeDecodeError)) as many_calls:
        pieces.decode(data)
    assert str(many_calls.value) == str(one_call.value)


def test_no_call_reads_many_containers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work of one call is bounded: each reads as many containers as fit into its bytes."""
    sizes: list[int] = []

    def counted(data: bytes) -> object:
        sizes.append(data.count(b"{") + data.count(b"["))
        return msgspec.json.decode(data)

    monkeypatch.setattr(pieces, "_decode", counted)
    data = msgspec.json.encode({"spec": {f"k{number}": {"a": [1, "x"]} for number in range(100_000)}})
    assert pieces.decode(data)["spec"]["k99999"] == {"a": [1, "x"]}
    assert len(sizes) > 20
    assert max(sizes) < 12_000
