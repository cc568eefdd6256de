"""How much one client may ask of the edge: sizes, and how long each step may take. Times are in seconds."""

from typing import NamedTuple

from setpoint.objects.codec import MAX_BODY


class Limits(NamedTuple):
    """The defaults suit Kubernetes' clients, which keep connections for long and open one for every watch."""

    # As much as Go's server reads of a request line and headers together.
    head_bytes: int = 1 << 20
    body_bytes: int = MAX_BODY
    # From the first byte of a request to the last one.
    request_seconds: float = 60.0
    # From the last byte of a request to its answer; and to that of a POST, PUT or PATCH. The real server gives as long.
    answer_seconds: float = 60.0
    write_seconds: float = 34.0
    # Between two requests on a connection.
    idle_seconds: float = 180.0
    # A peer that takes nothing of what waits for it.
    stalled_seconds: float = 30.0
    # How long the rest of a refused request is read and thrown away, so that its sender gets to see the refusal.
    linger_seconds: float = 1.0
    # A TLS handshake, and the farewell at the end of a TLS connection.
    handshake_seconds: float = 15.0
    farewell_seconds: float = 1.0
    # Requests that wait on one connection for the one before them, and the bytes of their bodies. Beyond that, reading
    # stops.
    pipelined: int = 16
    pipelined_bytes: int = MAX_BODY
    # What may wait unsent on a watch before its reader counts as too slow.
    stream_bytes: int = 8 << 20
    # How often the listener looks for connections past their time.
    sweep_seconds: float = 5.0
