"""Objects of one kind are compressed with one of them as the dictionary."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from setpoint.cache.packed_bytes import LEAST, PackedBytes, Packer

CONTAINERS = [{"name": f"container-{number}", "image": f"registry/image:{number}"} for number in range(60)]


def pod(number: int) -> bytes:
    return msgspec.json.encode({"metadata": {"name": f"web-{number}"}, "spec": {"containers": CONTAINERS}})


def unlike(number: int) -> bytes:
    """Returns bytes that cannot be compressed, others for each number."""
    state, found = number + 1, bytearray()
    for _ in range(2 * LEAST):
        state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        found.append(state >> 56)
    return bytes(found)


@given(st.lists(st.binary(max_size=6000), max_size=10))
def test_every_object_is_unpacked_as_it_was(objects: list[bytes]) -> None:
    packer = Packer()
    kept = [packer.pack(raw) for raw in objects]
    assert [each.unpack() if isinstance(each, PackedBytes) else each for each in kept] == objects


def test_similar_objects_take_a_small_part_of_their_size() -> None:
    packer = Packer()
    packer.pack(pod(0))
    for number in range(1, 20):
        packed = packer.pack(pod(number))
        assert isinstance(packed, PackedBytes)
        assert len(packed.packed) < len(pod(number)) / 20


def test_small_objects_and_those_unlike_all_others_stay_as_they_are() -> None:
    packer = Packer()
    packer.pack(pod(0))
    assert packer.pack(b"small") == b"small"
    assert packer.pack(unlike(1)) == unlike(1)


def test_another_dictionary_is_chosen_after_many_unlike_objects() -> None:
    packer = Packer()
    for number in range(20):
        packer.pack(unlike(number))
    first = packer.pack(pod(0))
    for _ in range(40):
        packer.pack(unlike(100))
    found = packer.pack(unlike(100))
    assert isinstance(found, PackedBytes)
    assert found.unpack() == unlike(100)
    assert isinstance(first, PackedBytes)
    assert first.unpack() == pod(0)
