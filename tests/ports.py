"""Free ports for servers of other projects, which are told their port before they start."""

import random
import socket

# Below the ports that the system gives to connections, and below those of workloads: until the server has started, no
# other worker of the suite is given the port by chance.
_FIRST, _LAST = 10_000, 19_999


def free_ports(count: int) -> list[int]:
    """So many different ports on which nobody listens."""
    found: list[int] = []
    while len(found) < count:
        port = random.randint(_FIRST, _LAST)
        if port not in found and _is_free(port):
            found.append(port)
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as sock:
        try:
            sock.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
