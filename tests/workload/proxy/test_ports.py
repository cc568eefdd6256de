"""Which ports are handed out, and where services listen."""

import errno
import os
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.workload.proxy.addresses import AddressMode, ListenAddresses, NoAddressError, loopback_of, place_of
from setpoint.workload.proxy.ports import FIRST, LAST, TCP, UDP, PortBusyError, Ports

LOCAL = ["127.0.0.1"]


def test_an_owner_has_the_same_port_again_even_if_nothing_was_remembered() -> None:
    first = Ports().reserve("web", TCP, LOCAL)
    first.release()
    second = Ports().reserve("web", TCP, LOCAL)
    second.release()
    assert first.port == second.port
    assert FIRST <= first.port <= LAST


@pytest.mark.parametrize("protocol", [TCP, UDP])
def test_nobody_else_has_a_port_that_is_reserved(protocol: str) -> None:
    held = Ports().reserve("web", protocol, LOCAL)
    other = Ports().reserve("web", protocol, LOCAL)
    assert held.port != other.port
    held.release()
    other.release()


def test_the_port_that_was_remembered_counts_and_those_of_others_come_last() -> None:
    remembered = {"web": FIRST + 7}
    ports = Ports(remembered, first=FIRST, last=FIRST + 9)
    found = ports.reserve("web", TCP, LOCAL)
    assert found.port == FIRST + 7
    found.release()
    others = [ports.reserve(f"other-{number}", TCP, LOCAL) for number in range(9)]
    assert FIRST + 7 not in {each.port for each in others}
    last = ports.reserve("one-more", TCP, LOCAL)
    assert last.port == FIRST + 7
    with pytest.raises(PortBusyError, match="no port from 20000 to 20009 is free"):
        ports.reserve("too-many", TCP, LOCAL)
    for each in (*others, last):
        each.release()


def test_a_port_that_was_asked_for_is_had_or_who_has_it_is_named() -> None:
    held = Ports().reserve("web", TCP, LOCAL)
    with pytest.raises(PortBusyError, match=rf"port {held.port} is in use by .*\(pid {os.getpid()}\): stop that"):
        Ports().reserve("api", TCP, LOCAL, held.port)
    held.release()
    again = Ports().reserve("api", TCP, LOCAL, held.port)
    assert again.port == held.port
    again.release()


def test_addresses_that_the_machine_has_not_are_done_without_but_for_the_first() -> None:
    found = Ports().reserve("web", TCP, ["127.0.0.1", "192.0.2.1"])
    assert len(found.sockets) == 1
    found.release()
    with pytest.raises(OSError, match=os.strerror(errno.EADDRNOTAVAIL)):
        Ports().reserve("web", TCP, ["192.0.2.1", "127.0.0.1"])


def test_a_process_can_take_what_was_reserved_for_it() -> None:
    held = Ports().reserve("web", TCP, LOCAL)
    held.release()
    with socket.create_server(("127.0.0.1", held.port)):
        pass


@pytest.mark.parametrize(
    ("mode", "address", "place"),
    [
        ("Localhost", "", ListenAddresses(("127.0.0.1", "::1"), "localhost")),
        ("IPv4ZeroOne", "", ListenAddresses(("127.0.0.1",), "127.0.0.1")),
        ("IPv6ZeroOne", "", ListenAddresses(("::1",), "[::1]")),
        ("IPv4AllInterfaces", "", ListenAddresses(("0.0.0.0",), "127.0.0.1")),
        ("IPv6AllInterfaces", "", ListenAddresses(("::",), "[::1]")),
        ("AllInterfaces", "", ListenAddresses(("0.0.0.0", "::"), "localhost")),
        ("IPv4ZeroOne", "localhost", ListenAddresses(("127.0.0.1", "::1"), "localhost")),
        ("IPv4ZeroOne", "app.localhost", ListenAddresses(("127.0.0.1", "::1"), "localhost")),
        ("Localhost", "0.0.0.0", ListenAddresses(("0.0.0.0",), "127.0.0.1")),
        ("Localhost", "[::1]", ListenAddresses(("::1",), "[::1]")),
    ],
)
def test_every_mode_means_its_addresses(mode: str, address: str, place: ListenAddresses) -> None:
    def resolve(name: str) -> list[str]:
        return ["127.0.0.1", "::1"] if name == "localhost" else []

    assert place_of(AddressMode(mode), address, "web", resolve) == place


def test_a_name_that_nobody_knows_is_refused() -> None:
    with pytest.raises(NoAddressError, match=r"unknown host nowhere\.invalid: use localhost, or an IP"):
        place_of(AddressMode.LOCALHOST, "nowhere.invalid", "web", lambda _: [])


@given(st.text())
def test_an_address_of_its_own_is_in_the_loopback_network_and_nobodys(owner: str) -> None:
    found = loopback_of(owner)
    assert found == loopback_of(owner)
    assert found.startswith("127.")
    assert not found.startswith("127.0.0.")
    assert found != "127.255.255.255"
