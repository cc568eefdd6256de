"""Services are given addresses and ports that nobody else has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects.tree import Object
from setpoint.server.kinds.allocation import AllocationError, Pool, pool_of


def test_what_nobody_asked_for_comes_from_the_upper_part_of_the_range() -> None:
    pool = Pool()
    assert pool.take_address() == "10.0.1.1"
    assert pool.take_address() == "10.0.1.2"
    assert pool.take_port() == 30086


def test_a_wanted_address_is_given_once() -> None:
    pool = Pool()
    assert pool.take_address("10.0.0.10") == "10.0.0.10"
    with pytest.raises(AllocationError, match="provided IP is already allocated"):
        pool.take_address("10.0.0.10")


@pytest.mark.parametrize("wanted", ["10.1.0.1", "192.168.0.1"])
def test_an_address_of_another_network_is_refused(wanted: str) -> None:
    with pytest.raises(AllocationError, match="the provided network does not match the current range"):
        Pool().take_address(wanted)


@pytest.mark.parametrize("wanted", ["10.0.0.0", "10.0.255.255"])
def test_the_ends_of_the_network_are_no_addresses(wanted: str) -> None:
    with pytest.raises(AllocationError, match="is not in the valid range"):
        Pool().take_address(wanted)


def test_a_port_outside_the_range_or_taken_is_refused() -> None:
    pool = Pool(used_ports=[30001])
    with pytest.raises(AllocationError, match="The range of valid ports is 30000-32767"):
        pool.take_port(80)
    with pytest.raises(AllocationError, match="provided port is already allocated"):
        pool.take_port(30001)


@given(st.integers(1, 40))
def test_a_range_is_given_out_whole_and_no_more(size: int) -> None:
    pool = Pool(ports=range(30000, 30000 + size))
    assert sorted(pool.take_port() for _ in range(size)) == list(range(30000, 30000 + size))
    with pytest.raises(AllocationError, match="range is full"):
        pool.take_port()


def test_a_network_is_given_out_whole_and_no_more() -> None:
    pool = Pool(cidr="10.9.0.0/27")
    assert len({pool.take_address() for _ in range(30)}) == 30
    with pytest.raises(AllocationError, match="range is full"):
        pool.take_address()


def test_what_services_have_is_in_use() -> None:
    services: list[Object] = [
        {"spec": {"clusterIPs": ["10.0.1.1"], "ports": [{"nodePort": 30086}], "healthCheckNodePort": 30087}},
        {"spec": {"clusterIPs": ["None"]}},
        {"spec": {"type": "ExternalName"}},
    ]
    pool = pool_of(services)
    assert pool.take_address() == "10.0.1.2"
    assert pool.take_port() == 30088
