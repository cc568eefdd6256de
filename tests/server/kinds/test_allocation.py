"""Services are given addresses and ports that nobody else has."""

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.core.service.allocator import AllocationError, Claims, Holdings, Pool, claims_of


def using(*claims: Claims) -> Holdings:
    holdings = Holdings()
    for position, claim in enumerate(claims):
        holdings.changed(f"service-{position}", claim)
    return holdings


def test_what_nobody_asked_for_comes_from_the_upper_part_of_the_range() -> None:
    pool = Holdings().pool()
    assert pool.reserve_address() == "10.0.1.1"
    assert pool.reserve_address() == "10.0.1.2"
    assert pool.reserve_port() == 30086


def test_a_wanted_address_is_given_once() -> None:
    pool = Holdings().pool()
    assert pool.reserve_address("10.0.0.10") == "10.0.0.10"
    with pytest.raises(AllocationError, match="provided IP is already allocated"):
        pool.reserve_address("10.0.0.10")


@pytest.mark.parametrize("wanted", ["10.1.0.1", "192.168.0.1"])
def test_an_address_of_another_network_is_refused(wanted: str) -> None:
    with pytest.raises(AllocationError, match="the provided network does not match the current range"):
        Holdings().pool().reserve_address(wanted)


@pytest.mark.parametrize("wanted", ["10.0.0.0", "10.0.255.255"])
def test_the_ends_of_the_network_are_no_addresses(wanted: str) -> None:
    with pytest.raises(AllocationError, match="the provided network does not match the current range"):
        Holdings().pool().reserve_address(wanted)
    with pytest.raises(AllocationError, match="is not in the valid range"):
        Holdings().dry_pool("").reserve_address(wanted)


def test_further_ranges_are_used_when_the_first_one_is_full() -> None:
    holdings = Holdings("10.0.0.0/30")
    holdings.ranges_changed("/servicecidrs/kubernetes", ["10.0.0.0/30"])
    holdings.ranges_changed("/servicecidrs/more", ["10.5.0.0/30", "fd00::/120"])
    pool = holdings.pool()
    assert [pool.reserve_address() for _ in range(4)] == ["10.0.0.1", "10.0.0.2", "10.5.0.1", "10.5.0.2"]
    with pytest.raises(AllocationError, match="range is full"):
        pool.reserve_address()
    pool.close()
    holdings.ranges_changed("/servicecidrs/more", None)
    with pytest.raises(AllocationError, match="the provided network does not match the current range"):
        holdings.pool().reserve_address("10.5.0.1")


def test_an_overlapping_range_knows_the_addresses_that_are_taken() -> None:
    holdings = Holdings("10.0.0.0/30")
    holdings.changed("service", Claims([int(ip_address("10.0.0.1"))], []))
    holdings.ranges_changed("/servicecidrs/more", ["10.0.0.0/29"])
    pool = holdings.pool()
    assert [pool.reserve_address() for _ in range(5)] == [f"10.0.0.{number}" for number in range(2, 7)]
    with pytest.raises(AllocationError, match="range is full"):
        pool.reserve_address()


def test_the_first_range_is_left_if_its_object_is_not_ready() -> None:
    holdings = Holdings("10.0.0.0/30")
    holdings.ranges_changed("/servicecidrs/kubernetes", [])
    with pytest.raises(AllocationError, match="range is full"):
        holdings.pool().reserve_address()
    holdings.ranges_changed("/servicecidrs/kubernetes", None)
    assert holdings.pool().reserve_address() == "10.0.0.1"


def test_a_port_outside_the_range_or_taken_is_refused() -> None:
    pool = using(Claims([], [30001])).pool()
    with pytest.raises(AllocationError, match="The range of valid ports is 30000-32767"):
        pool.reserve_port(80)
    with pytest.raises(AllocationError, match="provided port is already allocated"):
        pool.reserve_port(30001)


@given(st.integers(1, 40))
def test_a_range_is_given_out_whole_and_no_more(size: int) -> None:
    pool = Holdings(ports=range(30000, 30000 + size)).pool()
    assert sorted(pool.reserve_port() for _ in range(size)) == list(range(30000, 30000 + size))
    with pytest.raises(AllocationError, match="range is full"):
        pool.reserve_port()


def test_a_network_is_given_out_whole_and_no_more() -> None:
    pool = Holdings(cidr="10.9.0.0/27").pool()
    assert len({pool.reserve_address() for _ in range(30)}) == 30
    with pytest.raises(AllocationError, match="range is full"):
        pool.reserve_address()


def test_what_services_have_is_in_use() -> None:
    services: list[Object] = [
        {"spec": {"clusterIPs": ["10.0.1.1"], "ports": [{"nodePort": 30086}], "healthCheckNodePort": 30087}},
        {"spec": {"clusterIPs": ["None"]}},
        {"spec": {"type": "ExternalName"}},
    ]
    pool = using(*map(claims_of, services)).pool()
    assert pool.reserve_address() == "10.0.1.2"
    assert pool.reserve_port() == 30088


def test_what_a_write_has_taken_is_its_own_until_it_is_done() -> None:
    holdings = Holdings()
    first, second = holdings.pool(), holdings.pool()
    assert first.reserve_address("10.0.0.9") == "10.0.0.9"
    assert first.reserve_port() != second.reserve_port()
    with pytest.raises(AllocationError, match="already allocated"):
        second.reserve_address("10.0.0.9")
    first.close()
    first.close()
    assert second.reserve_address("10.0.0.9") == "10.0.0.9"


def test_a_service_may_have_again_what_it_has_and_nobody_else_may() -> None:
    both = [{"nodePort": 30007, "protocol": "TCP"}, {"nodePort": 30007, "protocol": "UDP"}]
    holdings = Holdings()
    holdings.changed("mine", claims_of({"spec": {"clusterIPs": ["10.0.0.9"], "ports": both}}))
    assert holdings.pool("mine").reserve_port(30007) == 30007
    with pytest.raises(AllocationError, match="already allocated"):
        holdings.pool("mine").reserve_port(30007)
    with pytest.raises(AllocationError, match="already allocated"):
        holdings.pool("yours").reserve_address("10.0.0.9")
    holdings.changed("mine", None)
    assert holdings.pool("yours").reserve_address("10.0.0.9") == "10.0.0.9"


def test_what_is_promised_elsewhere_is_not_to_be_had_meanwhile() -> None:
    holdings = Holdings(ports=range(30000, 30002))
    pool = holdings.pool("mine", Claims([], [30000]))
    assert pool.reserve_port() == 30001
    with pytest.raises(AllocationError, match="range is full"):
        pool.reserve_port()
    pool.close()
    assert holdings.pool().reserve_port(30000) == 30000


def test_what_comes_back_is_given_out_after_the_rest() -> None:
    holdings = Holdings(ports=range(30000, 30003))
    given: list[int] = []
    for _ in range(4):
        pool = holdings.pool()
        given.append(pool.reserve_port())
        pool.close()
    assert given == [30000, 30001, 30002, 30000]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.integers(30000, 30039)), max_size=60))
def test_however_services_come_and_go_nobody_is_given_what_another_has(
    steps: list[tuple[bool, int, int]],
) -> None:
    holdings = Holdings(ports=range(30000, 30040))
    has: dict[str, int] = {}
    for comes, which, wanted in steps:
        key = f"service-{which}"
        pool: Pool = holdings.pool(key)
        if not comes:
            has.pop(key, None)
            holdings.changed(key, None)
            continue
        try:
            port = pool.reserve_port(wanted if which % 2 else 0)
        except AllocationError:
            assert wanted in {port for other, port in has.items() if other != key}
        else:
            assert port not in {port for other, port in has.items() if other != key}
            has[key] = port
            holdings.changed(key, Claims([], [port]))
        pool.close()


def test_a_dry_run_makes_values_up_and_reserves_none() -> None:
    holdings = using(Claims([], [30100]))
    dry = holdings.dry_pool("other")
    assert [dry.reserve_address(), dry.reserve_address("10.0.0.9"), dry.reserve_address("10.0.0.9")] == [
        *("10.0.0.0", "10.0.0.9", "10.0.0.9"),
    ]
    assert [dry.reserve_port(), dry.reserve_port()] == [32769, 32770]
    for wanted in (30100, 32770):
        with pytest.raises(AllocationError, match="provided port is already allocated"):
            dry.reserve_port(wanted)
    with pytest.raises(AllocationError, match="is not in the valid range"):
        dry.reserve_address("192.168.0.1")
    dry.close()
    assert holdings.pool().reserve_address("10.0.0.9") == "10.0.0.9"
