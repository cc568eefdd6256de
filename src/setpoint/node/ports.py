"""Requests to the ports of pods, and their answers."""

from collections.abc import Mapping
from typing import NamedTuple


class PortRequest(NamedTuple):
    """An HTTP request to a port of a pod."""

    method: str
    # The path, percent-encoded, and the query without the question mark.
    path: str
    query: str = ""
    # The headers, with names in lower case.
    headers: Mapping[str, str] = {}
    body: bytes = b""


class PortReply(NamedTuple):
    """The answer to a request. Without a content type in the headers the body is plain text."""

    body: str | bytes = b""
    status: int = 200
    headers: Mapping[str, str] = {}
