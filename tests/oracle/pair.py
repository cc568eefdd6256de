"""The two servers that get every request."""

import time
from typing import Any

import msgspec
from tests.oracle.canonical import Names
from tests.oracle.comparison import Compared, compare
from tests.oracle.kinds import Asks, definitions
from tests.oracle.own_group import without_own_group
from tests.oracle.request import NO_EPISODE, Request
from tests.oracle.users import bindings, roles
from tests.oracle.wire import Address, Answer, Connection

# Caches of the real server follow its store after a moment. A read that differs is repeated after these seconds.
_PATIENCE = (0.02, 0.1)
# The endpoints of the Service `kubernetes`, which the real server does not write: its peers are started without its
# reconciler of endpoints.
_OWN_ENDPOINTS = (
    "/api/v1/namespaces/default/endpoints/kubernetes",
    "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes",
)
# The attempts with a request that writes no object: the real server names one of several faults in the random order of
# a Go map, and asks one of several ServiceCIDRs.
_RANDOM_ATTEMPTS = 8
_READY_SECONDS = 90.0


def _is_repeatable(request: Request, real: Answer, ours: Answer) -> bool:
    """Returns True if neither server wrote an object, so that the answers to a repetition are as good."""
    if request.reads or request.method == "DELETE":
        return False
    return real.code == ours.code >= 400 or ("dryRun", "All") in request.query


class Pair:
    """Connections to the real server and to ours."""

    def __init__(self, real: Address, ours: Address) -> None:
        self.addresses = (real, ours)
        self._connections = (Connection(real), Connection(ours))

    def exchange(
        self, request: Request, names: tuple[Names, Names], episode: str = NO_EPISODE
    ) -> tuple[Answer, Answer]:
        """Sends a request to both servers, and returns their answers."""
        for connection, known in zip(self._connections, names, strict=True):
            connection.send(request.encoded(known, episode))
        head = request.method == "HEAD"
        real, ours = self._connections
        return real.receive(head=head), ours.receive(head=head)

    def compared(
        self, request: Request, names: tuple[Names, Names], episode: str
    ) -> tuple[Answer, Compared, tuple[Names, Names]]:
        """Compares the answers; gives the answer of the real server, and the names after the answers."""
        for attempt in range(_RANDOM_ATTEMPTS):
            known = (names[0].copy(), names[1].copy())
            real, ours = self.exchange(request, known, episode)
            if request.kind == "documents":
                real, ours = without_own_group(real), without_own_group(ours)
            found = compare(request, real, ours, known)
            if not found.differences or request.kind == "documents":
                break
            if request.reads and attempt < len(_PATIENCE):
                time.sleep(_PATIENCE[attempt])
            elif not _is_repeatable(request, real, ours):
                break
        return real, found, known

    def asks(self, side: int) -> Asks:
        """A function that gets documents from one server."""

        def ask(path: str) -> Any:
            connection = self._connections[side]
            connection.send(Request("GET", path).encoded(Names(), NO_EPISODE))
            answer = connection.receive()
            if answer.code != 200:
                raise RuntimeError(f"GET {path}: {answer.code} {answer.body[:300]!r}")
            return msgspec.json.decode(answer.body)

        return ask

    def prepare(self) -> None:
        """Creates the rights of the users and the definitions of custom resources, and waits until they have effect."""
        names = (Names(), Names())
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        for path, trees in (
            (f"{rbac}/clusterroles", roles()),
            (f"{rbac}/clusterrolebindings", bindings()),
            (crds, definitions()),
        ):
            for tree in trees:
                request = Request("POST", path, headers=(("Content-Type", "application/json"),), body=tree)
                for answer in self.exchange(request, names):
                    if answer.code not in (201, 409):
                        raise RuntimeError(f"{path}: {answer.code} {answer.body[:500]!r}")
        for path in _OWN_ENDPOINTS:
            self.exchange(Request("DELETE", path), names)
        end = time.monotonic() + _READY_SECONDS
        probes = [
            Request("GET", "/apis/oracle.example.com/v1/gauges"),
            Request("GET", "/apis/oracle.example.com/v1beta1/gauges"),
            Request("GET", "/apis/oracle.example.com/v1/tanks"),
            Request("GET", "/api/v1/namespaces/default/configmaps", user="viewer"),
            Request("GET", "/openapi/v3/apis/oracle.example.com/v1"),
            Request("GET", "/openapi/v3/apis/oracle.example.com/v1beta1"),
        ]
        while waiting := [
            probe.path for probe in probes if {answer.code for answer in self.exchange(probe, names)} != {200}
        ]:
            if time.monotonic() > end:
                raise RuntimeError(f"not served after {_READY_SECONDS:.0f} s: {', '.join(waiting)}")
            time.sleep(0.2)

    def watch(self, request: Request, names: tuple[Names, Names], episode: str) -> "Watch":
        return Watch(self.addresses, request, names, episode)

    def close(self) -> None:
        for connection in self._connections:
            connection.close()


class Watch:
    """One watch on each server."""

    def __init__(
        self, addresses: tuple[Address, Address], request: Request, names: tuple[Names, Names], episode: str
    ) -> None:
        self.request = request
        self._connections = [Connection(address) for address in addresses]
        for connection, known in zip(self._connections, names, strict=True):
            connection.send(request.encoded(known, episode))
        self.heads = [connection.head() for connection in self._connections]

    def frames(self, end: bytes, seconds: float) -> list[list[bytes]]:
        """The frames of each server, up to one that contains `end`."""
        return [list(connection.frames(end, seconds)) for connection in self._connections]

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
