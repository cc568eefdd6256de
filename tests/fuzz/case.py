"""One test case of the fuzzer: the bytes that are sent, and the rules for reading the answer."""

from typing import NamedTuple


class Case(NamedTuple):
    """A request, or something that resembles one.

    A case with intact framing shares a connection with others and gets exactly one answer. A case that is `alone` has a
    connection of its own: the client sends `data`, then half-closes, and accepts any number of valid answers. `frames`
    are sent after the head of the answer to an upgrade.
    """

    number: int
    way: str
    user: str
    method: str
    path: str
    data: bytes
    alone: bool = False
    frames: bytes = b""
