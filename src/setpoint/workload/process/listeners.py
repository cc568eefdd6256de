"""Finds the process that answers at a port of this machine, and checks if the process belongs to a tree.

A port that answers does not prove that a service is up: the service may have failed to bind the port because another
process has it. The system lists the listening sockets of the port; the processes of the tree are searched for one of
them. A socket that was inherited or passed on counts, and so does a daemon with the tree's cookie.
"""

import ipaddress
import os
import socket
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from setpoint.machine.chosen import system
from setpoint.workload.process.identity import Identity, is_alive
from setpoint.workload.process.process_table import ProcessTable, cookies_of
from setpoint.workload.process.session import GUARDIAN
from setpoint.workload.process.termination import program_of

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_ANY4, _ANY6 = ipaddress.ip_address("0.0.0.0"), ipaddress.ip_address("::")
# Programs that listen on behalf of containers; the engine starts them, not the command that starts the container.
_FORWARDERS = (
    "docker-proxy",
    "rootlessport",
    "rootlesskit",
    "slirp4netns",
    "pasta",
    "conmon",
    "gvproxy",
    "com.docker",
    "OrbStack",
    "limactl",
)
_CONTAINER_COMMANDS = ("docker", "podman", "nerdctl", "kubectl", "kind", "minikube", "limactl", "colima", "skaffold")


class Holder(NamedTuple):
    """A process outside of a tree that listens at a port; pid 0 for a process of another user."""

    pid: int
    name: str


def listening_keys(host: str, port: int) -> frozenset[int]:
    """Returns the keys of the sockets that answer at a host and port; empty if the host is not this machine, or the
    port is forwarded by the kernel."""
    sockets = [(ipaddress.ip_address(at.partition("%")[0]), key) for at, key in system.listening(port)]
    for address in _resolved(host, port) if sockets else ():
        for wanted in _wildcards(address):
            if found := frozenset(key for at, key in sockets if at == wanted):
                return found if _is_local(address) else frozenset()
    return frozenset()


def foreign_holder(keys: Collection[int], root: Identity, cookie: str) -> Holder | None:
    """Returns the process that has one of the listening sockets, or None if a process of the tree has one, the control
    plane itself (a proxy), or a process of unknown origin."""
    if is_alive(root) and any(system.has_socket(pid, keys) for pid in system.family(root.pid)):
        return None  # the usual case, without a snapshot of all processes
    table = ProcessTable()
    tree = table.tree(root, cookie)
    readable = True
    for pid in {*tree, os.getpid()}:
        held = system.has_socket(pid, keys)
        if held:
            return None
        readable = readable and held is not None
    others = [pid for pid in table.stats if pid not in tree]
    holder = next((pid for pid in others if system.has_socket(pid, keys)), None)
    if holder is None:
        # The descriptors of another user's processes are not readable, maybe including some of the tree.
        return Holder(0, "") if readable else None
    name = program_of(holder)
    if name.startswith(_FORWARDERS) and any(program_of(pid).startswith(_CONTAINER_COMMANDS) for pid in tree):
        return None
    # A daemon that has cleared its environment cannot be attributed to one of the guardian's trees.
    if not any(cookies_of(holder)) and _is_below_guardian(holder, table, cookie):
        return None
    return Holder(holder, name)


def _is_below_guardian(pid: int, table: ProcessTable, cookie: str) -> bool:
    """Returns True if a process is a descendant of the guardian of a cookie's session."""
    guardian = f"{cookie.partition('/')[0]}/{GUARDIAN}"
    while (found := table.stats.get(pid)) is not None:
        if any(each.startswith(guardian) for each in cookies_of(pid)):
            return True
        pid = found.parent
    return False


def _resolved(host: str, port: int) -> Sequence[Address]:
    """Returns the addresses of a host in the order in which a client tries them."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        return ()
    addresses = dict.fromkeys(str(each[4][0]) for each in found)
    return [ipaddress.ip_address(each.partition("%")[0]) for each in addresses]


def _wildcards(address: Address) -> Iterator[Address]:
    """Yields the local addresses of sockets that accept connections to an address, the most specific first."""
    yield address
    if isinstance(address, ipaddress.IPv4Address):
        yield _ANY4
        yield ipaddress.ip_address(f"::ffff:{address}")
    yield _ANY6


def _is_local(address: Address) -> bool:
    """Returns True if this machine has the address."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family) as sock:
        try:
            sock.bind((str(address), 0))
        except OSError:
            return False
    return True
