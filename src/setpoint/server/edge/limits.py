"""Limits of the edge for one client: sizes, and the duration of each step. Times are in seconds."""

from typing import NamedTuple

from setpoint.objects.codec import MAX_BODY

# A larger body is written in pieces of this size, so that encryption does not block the loop. As many bytes may be
# buffered in the transport before writing pauses.
PIECE_BYTES = 64 << 10


class Limits(NamedTuple):
    """The defaults suit Kubernetes' clients, which keep connections for long and open one for every watch."""

    # The same limit as Go's server has for the request line and headers together.
    head_bytes: int = 1 << 20
    body_bytes: int = MAX_BODY
    # From the first byte of a request to the last one.
    request_seconds: float = 60.0
    # From the last byte of a request to its response; the second for a POST, PUT or PATCH. The same as
    # kube-apiserver's.
    answer_seconds: float = 60.0
    write_seconds: float = 34.0
    # Between two requests on a connection.
    idle_seconds: float = 180.0
    # For a client that reads no pending bytes.
    stalled_seconds: float = 30.0
    # The time in which the rest of a rejected request is read and discarded, so that the client can read the error.
    linger_seconds: float = 1.0
    # A TLS handshake, and the shutdown of a TLS connection.
    handshake_seconds: float = 15.0
    farewell_seconds: float = 1.0
    # The maximum number of pipelined requests that wait on one connection, and the bytes of their bodies. Beyond that,
    # reading pauses.
    pipelined: int = 16
    pipelined_bytes: int = MAX_BODY
    # The number of unsent bytes of a watch at which its client counts as too slow.
    stream_bytes: int = 8 << 20
    # The interval at which the listener checks the deadlines of connections.
    sweep_seconds: float = 5.0
