"""Takes answers off the wire, and judges them."""

import re
from typing import Final, NamedTuple

import msgspec
from tests.fuzz.case import Case

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
_TYPE = re.compile(rb"\r\ncontent-type: *([^\r]*)", re.IGNORECASE)
_CLOSE = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-5]\d\d) [ -~]*\r\n")
_HEADER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+: ?[^\x00-\x08\x0a-\x1f\x7f]*")
# Not implemented, not available, not in time: the API has these, always with a Status.
MEANT: Final = (501, 503, 504)
# The real server answers 500 to these as well.
RECORDED: Final = (
    "failed calling webhook",
    "conversion webhook for",
)
_PLAIN = "404 page not found\n"


class Malformed(Exception):
    """The server sent something that is not HTTP."""


class Answer(NamedTuple):
    """One answer. A stream has no body here, and neither has an accepted upgrade."""

    status: int
    content_type: str
    body: bytes
    streams: bool
    closes: bool


def take(buffer: bytearray, method: str) -> Answer | None:
    """Takes the first answer from the buffer; None while it is not complete. Raises Malformed."""
    while True:
        end = buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(buffer) > 64 << 10 or (buffer and not b"HTTP/1.".startswith(buffer[:7])):
                raise Malformed(f"no answer begins with {bytes(buffer[:200])!r}")
            return None
        head = bytes(buffer[: end + 2])
        line = _STATUS_LINE.match(head)
        if line is None:
            raise Malformed(f"no status line: {head[:200]!r}")
        for header in head[line.end() : -2].split(b"\r\n"):
            if header and not _HEADER.fullmatch(header):
                raise Malformed(f"no header: {header[:200]!r}")
        status = int(line[1])
        if status != 100:
            break
        del buffer[: end + 4]
    found = _TYPE.search(head)
    content_type = found[1].decode("latin-1") if found else ""
    closes = _CLOSE.search(head) is not None
    size = _LENGTH.search(head)
    if status == 101 or _CHUNKED.search(head):
        del buffer[: end + 4]
        return Answer(status, content_type, b"", True, closes)
    if method == "HEAD" or status in (204, 304):
        del buffer[: end + 4]
        return Answer(status, content_type, b"", False, closes)
    if size is None:
        if not closes and status != 200:
            raise Malformed(f"an answer without an end: {head[:300]!r}")
        del buffer[: end + 4]
        return Answer(status, content_type, b"", True, True)  # up to the end of the connection: a stream for HTTP/1.0
    whole = end + 4 + int(size[1])
    if len(buffer) < whole:
        return None
    body = bytes(buffer[end + 4 : whole])
    del buffer[:whole]
    return Answer(status, content_type, body, False, closes)


def wrong(case: Case, answer: Answer) -> str:
    """Says what is wrong with an answer; empty if nothing is."""
    if answer.streams:
        return "" if answer.status in (101, 200) else f"a stream with status {answer.status}"
    text = answer.body
    if answer.status >= 500 and answer.status not in MEANT and not any(word.encode() in text for word in RECORDED):
        return f"unintended {answer.status}"
    if answer.content_type.startswith("application/json"):
        return _wrong_json(answer) if text else ""
    if answer.status < 400 or not text:
        return ""
    if answer.content_type.startswith("application/yaml"):
        return "" if b"kind: Status" in text else "an error in YAML that is no Status"
    if answer.content_type.startswith("application/vnd.kubernetes.protobuf"):
        return "" if text.startswith(b"k8s\0") and b"Status" in text else "an error in protobuf that is no Status"
    if answer.content_type.startswith("text/plain"):
        return "" if answer.status == 404 or not case.path.startswith("/api") else f"a {answer.status} in plain text"
    return f"an error of type {answer.content_type!r}"


def _wrong_json(answer: Answer) -> str:
    try:
        tree = msgspec.json.decode(answer.body)
    except msgspec.DecodeError as error:
        return f"invalid JSON: {error}"
    if answer.status < 400:
        return ""
    if not isinstance(tree, dict) or tree.get("kind") != "Status" or tree.get("status") != "Failure":
        return "an error that is no Status"
    if tree.get("code") != answer.status or not tree.get("message"):
        return "a Status with a wrong code or without a message"
    return ""
