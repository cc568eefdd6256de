"""The listening TCP sockets of this machine, with their addresses and, as keys, their inodes.

The kernel lists only listening sockets on request (netlink, sock_diag). The fallback is /proc/net/tcp, whose cost grows
with the number of connections of the machine.
"""

import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress

from setpoint.machine.layer import ListeningSocket

_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY = 4, 20
_ERROR, _DONE = 2, 3
_REQUEST_AND_DUMP = 0x301
_LISTEN = 10
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBBI48x")
# In a message: the family, the port, the address and the inode.
_SOCKET = struct.Struct("=B3x2s2x16s44xI")


def listening(port: int) -> list[ListeningSocket]:
    """Returns the listening TCP sockets of a port."""
    try:
        return [found for family in (socket.AF_INET, socket.AF_INET6) for found in _by_netlink(family, port)]
    except OSError:  # a kernel without this interface
        return list(_by_table(port))


def _by_netlink(family: int, port: int) -> Iterator[ListeningSocket]:
    """Yields the listening sockets of a port. Raises OSError."""
    wanted = port.to_bytes(2, "big")
    request = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, 0, 1 << _LISTEN)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as link:
        link.settimeout(1.0)
        head = _HEADER.pack(_HEADER.size + len(request), _SOCK_DIAG_BY_FAMILY, _REQUEST_AND_DUMP, 1, 0)
        link.send(head + request)
        while True:
            data, place = link.recv(1 << 16), 0
            while place < len(data):
                size, kind, *_ = _HEADER.unpack_from(data, place)
                if kind == _DONE:
                    return
                if kind == _ERROR or size < _HEADER.size:
                    raise OSError("sock_diag is not available")
                found, at, address, inode = _SOCKET.unpack_from(data, place + _HEADER.size)
                if at == wanted:
                    packed = address[:4] if found == socket.AF_INET else address
                    yield ListeningSocket(socket.inet_ntop(found, packed), inode)
                place += (size + 3) & ~3


def _by_table(port: int) -> Iterator[ListeningSocket]:
    ending = b":%04X" % port
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(OSError), open(path, "rb") as table:
            for line in table:
                if ending in line:
                    fields = line.split()
                    if fields[1].endswith(ending) and int(fields[3], 16) == _LISTEN:
                        yield ListeningSocket(_parsed(fields[1][: -len(ending)]), int(fields[9]))


def _parsed(text: bytes) -> str:
    """Returns an address of the table, which has its words in the byte order of the machine."""
    words = [int(text[place : place + 8], 16).to_bytes(4, sys.byteorder) for place in range(0, len(text), 8)]
    return socket.inet_ntop(socket.AF_INET if len(words) == 1 else socket.AF_INET6, b"".join(words))
