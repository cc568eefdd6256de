"""Cuts this process and its children off from every network but a loopback interface of their own.

Malformed objects may hold addresses (webhooks, proxies of pods and services), and the server may try to reach them.
"""

import ctypes
import fcntl
import os
import socket
import struct

_CLONE_NEWNET = 0x40000000
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


def isolated() -> str:
    """Enters a network namespace where the system permits it, and says if it did."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(_CLONE_NEWNET) != 0:
            return f"shared ({os.strerror(ctypes.get_errno())})"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            request = struct.pack("16sh14s", b"lo", 0, b"")
            flags = struct.unpack("16sh14s", fcntl.ioctl(control, _SIOCGIFFLAGS, request))[1]
            fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh14s", b"lo", flags | _IFF_UP, b""))
    except (OSError, AttributeError) as error:
        return f"shared ({error})"
    return "loopback only"
