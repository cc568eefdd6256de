"""The packing of endpoints into slices: existing slices change as little as possible."""

from collections.abc import Iterable

from setpoint.objects.tree import Object
from setpoint.system.endpointslice.packing import packed
from setpoint.system.service_endpoints.slices import SliceChanges, identity


def endpoint(number: int, *, ready: bool = True) -> Object:
    return {"addresses": [f"10.0.{number // 256}.{number % 256}"], "conditions": {"ready": ready}}


def slice_of(name: str, numbers: Iterable[int]) -> Object:
    return {"metadata": {"name": name}, "endpoints": [endpoint(number) for number in numbers]}


def pack(existing: list[Object], wanted: Iterable[int], *unready: int) -> SliceChanges:
    endpoints = {identity(each): each for each in (endpoint(number, ready=number not in unready) for number in wanted)}
    return packed(existing, endpoints, lambda found: None, lambda: slice_of("new", ()))


def sizes(slices: list[Object]) -> list[tuple[str, int]]:
    return [(each["metadata"]["name"], len(each["endpoints"])) for each in slices]


def test_new_slices_have_at_most_a_hundred_endpoints() -> None:
    made = pack([], range(250))
    assert sizes(made.create) == [("new", 100), ("new", 100), ("new", 50)]
    assert made.update == made.delete == []


def test_equal_endpoints_need_no_write() -> None:
    assert pack([slice_of("a", range(100)), slice_of("b", range(100, 120))], range(120)) == SliceChanges([], [], [])


def test_a_changed_slice_is_filled_first() -> None:
    """One endpoint of `a` goes and two come: `a` is written anyway, so `b` is left alone."""
    made = pack([slice_of("a", range(50)), slice_of("b", range(50, 140))], range(1, 142))
    assert sizes(made.update) == [("a", 51)]
    assert made.create == made.delete == []


def test_the_fullest_changed_slice_is_filled_first() -> None:
    made = pack([slice_of("a", range(50)), slice_of("b", range(50, 140))], [*range(1, 50), *range(51, 150)])
    assert sizes(made.update) == [("a", 49), ("b", 99)]


def test_the_rest_goes_into_one_unchanged_slice_with_room() -> None:
    existing = [slice_of("a", range(20)), slice_of("b", range(20, 100)), slice_of("c", range(100, 195))]
    assert sizes(pack(existing, range(210)).update) == [("b", 95)]
    assert sizes(pack(existing, range(225)).update) == [("a", 50)]


def test_a_rest_that_fits_nowhere_gets_a_new_slice() -> None:
    made = pack([slice_of("a", range(60)), slice_of("b", range(60, 120))], range(170))
    assert sizes(made.create) == [("new", 50)]
    assert made.update == []


def test_changed_endpoints_stay_and_empty_slices_go() -> None:
    made = pack([slice_of("a", range(10)), slice_of("b", range(10, 20))], range(10), 3)
    assert sizes(made.update) == [("a", 10)]
    assert [each["conditions"]["ready"] for each in made.update[0]["endpoints"]].count(False) == 1
    assert sizes(made.delete) == [("b", 10)]
