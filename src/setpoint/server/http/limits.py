"""How much one client may ask of the edge: sizes, and how long each step may take. Times are in seconds."""

from typing import NamedTuple


class Limits(NamedTuple):
    """The defaults suit Kubernetes' clients, which keep connections for long and open one for every watch."""

    # As much as Go's server reads of a request line and headers together.
    head_bytes: int = 1 << 20
    # The real server refuses what is larger; see `objects.codec`.
    body_bytes: int = 3 << 20
    # From the first byte of a request to the last one.
    request_seconds: float = 60.0
    # Between two requests on a connection.
    idle_seconds: float = 180.0
    # A peer that takes nothing of what waits for it.
    stalled_seconds: float = 30.0
    # Requests that wait on one connection for the one before them. Beyond that, reading stops.
    pipelined: int = 16
    # What may wait unsent on a watch before its reader counts as too slow.
    stream_bytes: int = 8 << 20
