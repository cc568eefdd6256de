"""Describes the fault of a text that is not JSON, in the wording of Go's `encoding/json`.

Used only after a decoder has rejected the text, to produce the message of the real server.
"""

import re

from setpoint.objects.gotext import quote

_BLANK = re.compile(rb"[ \t\r\n]*")
_STRING = re.compile(rb'[^"\\\x00-\x1f]*')
_END = "unexpected end of JSON input"
_LITERALS = {b"t": "true", b"f": "false", b"n": "null"}
_HEX = b"0123456789abcdefABCDEF"


class _Fault(Exception):  # noqa: N818 - never leaves this module
    pass


def describe(data: bytes) -> str | None:
    """Returns the first fault of the text; None if the text is well-formed."""
    try:
        _Scanner(data).document()
    except _Fault as fault:
        return str(fault)
    return None


class _Scanner:
    """Reads JSON with an explicit stack of open containers, so that the nesting is not limited."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def blank(self) -> None:
        found = _BLANK.match(self.data, self.at)
        self.at = found.end() if found else self.at

    def peek(self) -> bytes:
        if self.at >= len(self.data):
            raise _Fault(_END)
        return self.data[self.at : self.at + 1]

    def inside(self) -> bytes:
        """Returns the next byte inside a number, literal or escape, where Go treats the end of the text as a blank."""
        return self.data[self.at : self.at + 1] or b" "

    def bad(self, where: str) -> _Fault:
        char = chr(self.inside()[0])
        shown = {"'": "\\'", '"': '"'}.get(char) or quote(char)[1:-1]
        return _Fault(f"invalid character '{shown}' {where}")

    def document(self) -> None:
        opened: list[bytes] = []
        while True:
            # A value is next; inside an empty list, possibly the end instead.
            self.blank()
            char = self.peek()
            if char in b"{[":
                self.at += 1
                self.blank()
                if self.peek() == (b"}" if char == b"{" else b"]"):
                    self.at += 1
                else:
                    opened.append(char)
                    if char == b"{":
                        self.key()
                    continue
            else:
                self.scalar(char)
            while opened:
                self.blank()
                char = self.peek()
                inside = opened[-1]
                if char == b",":
                    self.at += 1
                    if inside == b"{":
                        self.blank()
                        self.key()
                    break
                if char != (b"}" if inside == b"{" else b"]"):
                    raise self.bad("after object key:value pair" if inside == b"{" else "after array element")
                self.at += 1
                opened.pop()
            else:
                break
        self.blank()
        if self.at < len(self.data):
            raise self.bad("after top-level value")

    def key(self) -> None:
        if self.peek() != b'"':
            raise self.bad("looking for beginning of object key string")
        self.string()
        self.blank()
        if self.peek() != b":":
            raise self.bad("after object key")
        self.at += 1

    def scalar(self, char: bytes) -> None:
        if char == b'"':
            self.string()
        elif char in _LITERALS:
            word = _LITERALS[char]
            for expected in word[1:]:
                self.at += 1
                if self.inside() != expected.encode():
                    raise self.bad(f"in literal {word} (expecting '{expected}')")
            self.at += 1
        elif char in b"-0123456789":
            self.number()
        else:
            raise self.bad("looking for beginning of value")

    def string(self) -> None:
        self.at += 1
        while True:
            found = _STRING.match(self.data, self.at)
            self.at = found.end() if found else self.at
            char = self.peek()
            if char == b'"':
                self.at += 1
                return
            if char != b"\\":
                raise self.bad("in string literal")
            self.at += 1
            if (char := self.inside()) == b"u":
                for _ in range(4):
                    self.at += 1
                    if self.inside() not in _HEX:
                        raise self.bad("in \\u hexadecimal character escape")
            elif char not in b'bfnrt\\/"':
                raise self.bad("in string escape code")
            self.at += 1

    def number(self) -> None:
        if self.inside() == b"-":
            self.at += 1
        if self.inside() == b"0":
            self.at += 1
        else:
            self.digits("in numeric literal")
        if self.inside() == b".":
            self.at += 1
            self.digits("after decimal point in numeric literal")
        if self.inside() in (b"e", b"E"):
            self.at += 1
            if self.inside() in b"+-":
                self.at += 1
            self.digits("in exponent of numeric literal")

    def digits(self, where: str) -> None:
        if not self.inside().isdigit():
            raise self.bad(where)
        while self.inside().isdigit():
            self.at += 1
