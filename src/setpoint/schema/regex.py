"""Patterns of schemas: RE2 syntax, matched in bounded time.

RE2 parses a pattern and reports its faults (`pattern_error` translates them to Go's messages). There are two ways to
match. Patterns that RE2 and Python's `re` interpret equally, and for which a backtracking matcher provably has little
work, are matched by `re`, several times faster on short texts. All others, and texts longer than the proof allows, are
matched by RE2, in time linear in the text.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import re2

Matcher = Callable[[str], object]

# RE2's message -> Go's message for the same fault.
_GO_WORDS = {
    "invalid escape sequence": "invalid escape sequence",
    "invalid character class": "invalid character class",
    "invalid character class range": "invalid character class range",
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "unexpected )": "unexpected )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid UTF-8": "invalid UTF-8",
    "invalid named capture group": "invalid named capture",
}
_LOOKBEHIND = ("(?<=", "(?<!")


def _options(memory: int) -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = memory
    return options


# The memory limits of RE2 for one pattern: its own default, and a larger one for a few large patterns.
_OPTIONS, _LARGE = _options(8 << 20), _options(64 << 20)
_TOO_LARGE = "pattern too large - compile failed"


def pattern_error(pattern: str) -> str:
    """Returns the fault of a pattern in the wording of Go's `regexp`; empty for a valid pattern."""
    try:
        _compile(pattern)
    except re2.error as fault:
        text = _message(fault)
        if text == _TOO_LARGE:
            return f"error parsing regexp: expression too large: `{pattern}`"
        what, _, where = text.partition(": ")
        if where in _LOOKBEHIND:
            # Go parses the name of a group here, and misses its end.
            rest = pattern[pattern.find(where) :]
            end = rest.find(">")
            what, where = "invalid named capture group", rest if end < 0 else rest[: end + 1]
        return f"error parsing regexp: {_GO_WORDS.get(what, what)}: `{where}`"
    except UnicodeEncodeError:
        return "error parsing regexp: invalid UTF-8: ``"
    if _any_byte(pattern):
        return "error parsing regexp: invalid escape sequence: `\\C`"
    return ""


def _compile(pattern: str) -> Any:
    try:
        return re2.compile(pattern, _OPTIONS)
    except re2.error as fault:
        if _message(fault) != _TOO_LARGE:
            raise
    return re2.compile(pattern, _LARGE)


def _message(fault: re2.error) -> str:
    message = fault.args[0]
    return message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)


def _any_byte(pattern: str) -> bool:
    """Returns True if a pattern uses `\\C`, which RE2 supports and Go does not."""
    return any(token == "\\C" for token in re.findall(r"\\Q.*?(?:\\E|\Z)|\\.", pattern, re.DOTALL))


@lru_cache(maxsize=1024)
def matcher(pattern: str) -> Matcher:
    """Returns a function that is true for a text with a match of the pattern, which must be valid."""
    exact = _re2_matcher(pattern)
    quick = _translate(pattern)
    if quick is None:
        return exact
    search, limit = re.compile(quick.source, re.ASCII).search, quick.limit

    def match(text: str) -> object:
        return search(text) if len(text) <= limit else exact(text)

    return match


class Quick(NamedTuple):
    """A pattern for `re`: its source, and the longest text for which matching is provably fast."""

    source: str
    limit: int


@lru_cache(maxsize=1024)
def quick_pattern(pattern: str) -> Quick | None:
    """Returns the pattern for `re`, if `re` provably has the same meaning and is fast; None if only RE2 is suitable."""
    return _translate(pattern)


def _re2_matcher(pattern: str) -> Matcher:
    # A set of one pattern: RE2's cheapest way to test for a match without its position.
    match: Matcher
    for options in (_OPTIONS, _LARGE):
        found = re2.Set.SearchSet(options)
        try:
            found.Add(pattern)
            found.Compile()
        except re2.error:
            continue
        match = found.Match
        return match
    match = _compile(pattern).search
    return match


# --- parsing of patterns that both engines interpret equally ---

# Characters are bits of a mask: one for each ASCII character, one for all others together. A mask with too many bits
# can only make the proof below fail, never make its result wrong.
_OTHER = 1 << 128
_ALL = (_OTHER << 1) - 1


def _bits(chars: str) -> int:
    mask = 0
    for char in chars:
        mask |= 1 << ord(char) if ord(char) < 128 else _OTHER
    return mask


_DIGITS = _bits("0123456789")
_SPACES = _bits("\t\n\f\r ")  # RE2's \s has no vertical tab; `re`'s has
_WORD = _bits("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_CLASSES = {
    "d": (_DIGITS, "0-9"),
    "s": (_SPACES, r"\t\n\f\r "),
    "w": (_WORD, "0-9A-Za-z_"),
}
_CONTROLS = {"t": "\t", "n": "\n", "f": "\f", "r": "\r", "v": "\v", "a": "\a"}


class _Ambiguous(Exception):  # noqa: N818 - not an error: the pattern is left to RE2
    """The pattern has a construct that the two engines may interpret differently."""


class _Node(NamedTuple):
    """A part of a pattern: its source for `re`, and the properties that the proof needs.

    `first` are the possible first characters, and `empty` is True if the part may match the empty text. `parts` holds
    the alternatives of a choice, the members of a sequence, or the repeated part; `times` the bounds of a repetition.
    """

    kind: str
    source: str
    first: int = 0
    empty: bool = False
    parts: tuple["_Node", ...] = ()
    times: tuple[int, int | None] = (1, 1)


class _PatternReader:
    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.at = 0

    def peek(self) -> str:
        return self.text[self.at] if self.at < len(self.text) else ""

    def next(self) -> str:
        char = self.peek()
        if not char:
            raise _Ambiguous
        self.at += 1
        return char

    def choice(self, depth: int) -> _Node:
        if depth > 20:
            raise _Ambiguous
        branches = [self.sequence(depth)]
        while self.peek() == "|":
            self.at += 1
            branches.append(self.sequence(depth))
        if len(branches) == 1:
            return branches[0]
        first = 0
        for branch in branches:
            first |= branch.first
        return _Node(
            "choice",
            "(?:" + "|".join(branch.source for branch in branches) + ")",
            first,
            any(branch.empty for branch in branches),
            tuple(branches),
        )

    def sequence(self, depth: int) -> _Node:
        parts: list[_Node] = []
        while (char := self.peek()) and char not in "|)":
            parts.append(self.repeated(depth))
        first, empty = 0, True
        for part in parts:
            if empty:
                first |= part.first
            empty = empty and part.empty
        return _Node("sequence", "".join(part.source for part in parts), first, empty, tuple(parts))

    def repeated(self, depth: int) -> _Node:
        part = self.single(depth)
        bounds = self.bounds()
        if bounds is None:
            return part
        if part.kind == "anchor":
            raise _Ambiguous
        low, high = bounds
        if self.peek() == "?":  # a lazy repetition matches the same texts
            self.at += 1
        if self.peek() and self.peek() in "*+?{":
            raise _Ambiguous
        suffix = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get(bounds)
        if suffix is None:
            suffix = f"{{{low},{'' if high is None else high}}}"
        source = part.source if part.kind == "char" else f"(?:{part.source})"
        return _Node("repeat", source + suffix, part.first, low == 0 or part.empty, (part,), bounds)

    def bounds(self) -> tuple[int, int | None] | None:
        char = self.peek()
        if char in ("*", "+", "?"):
            self.at += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        if char != "{":
            return None
        found = re.compile(r"\{(\d{1,4})(?:(,)(\d{0,4}))?\}").match(self.text, self.at)
        if found is None:
            raise _Ambiguous
        self.at = found.end()
        low = int(found[1])
        if not found[2]:
            return low, low
        return low, int(found[3]) if found[3] else None

    def single(self, depth: int) -> _Node:
        char = self.next()
        if char == "(":
            if self.peek() == "?":
                if self.text[self.at : self.at + 2] != "?:":
                    raise _Ambiguous
                self.at += 2
            inner = self.choice(depth + 1)
            if self.next() != ")":
                raise _Ambiguous
            return inner._replace(source=f"(?:{inner.source})")
        if char == "^":
            return _Node("anchor", "^", 0, True)
        if char == "$":
            return _Node("anchor", r"\Z", 0, True)
        if char == ".":
            return _Node("char", ".", _ALL & ~_bits("\n"))
        if char == "[":
            return self.bracket()
        if char == "\\":
            mask, source = self.escape()
            return _Node("char", f"[{source}]", mask)
        if char in "*+?{":
            raise _Ambiguous
        return _Node("char", re.escape(char), _bits(char))

    def escape(self) -> tuple[int, str]:
        """Parses the escape after a backslash to a mask and to source for a bracket expression."""
        char = self.next()
        if char in _CLASSES:
            return _CLASSES[char]
        if char.lower() in _CLASSES and char.isupper():
            raise _Ambiguous
        if char in _CONTROLS:
            char = _CONTROLS[char]
        elif char.isalnum() or ord(char) >= 128:
            raise _Ambiguous
        return _bits(char), re.escape(char)

    def bracket(self) -> _Node:
        negated = self.peek() == "^"
        if negated:
            self.at += 1
        mask, source = 0, ""
        members = 0
        while (char := self.next()) != "]" or members == 0:
            members += 1
            if char == "[" and self.peek() in (":", ".", "="):
                raise _Ambiguous
            if char == "\\":
                bits, text = self.escape()
            else:
                bits, text = _bits(char), re.escape(char)
            if self.peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                low = char if char != "\\" else ""
                self.at += 1
                high = self.next()
                if not low or high in "\\[" or ord(low) > ord(high):
                    raise _Ambiguous
                bits = _ALL if ord(high) >= 128 else _bits("".join(map(chr, range(ord(low), ord(high) + 1))))
                text = f"{re.escape(low)}-{re.escape(high)}"
            mask |= bits
            source += text
        if negated:
            # One bit represents all characters beyond ASCII: the complement may still contain some of them.
            mask = (_ALL & ~mask) | _OTHER
        return _Node("char", f"[{'^' if negated else ''}{source}]", mask)


# --- the proof that backtracking is bounded ---

_STEPS = 100_000  # about two milliseconds of `re`
_LONGEST = 4096
_SHORTEST = 24


def _translate(pattern: str) -> Quick | None:
    if len(pattern) > 1000:
        return None
    reader = _PatternReader(pattern)
    try:
        tree = reader.choice(0)
        if reader.peek():
            return None
        ways, loops = _effort(tree, 0)
    except _Ambiguous:
        return None
    if not pattern.startswith("^") or tree.kind == "choice":
        loops += 1  # the search may begin at any position
    # Every path may read to the end of the text.
    limit = _LONGEST if loops == 0 else int((_STEPS / ways) ** (1 / (loops + 1)))
    if ways > _STEPS or limit < _SHORTEST:
        return None
    return Quick(tree.source, min(limit, _LONGEST))


def _effort(node: _Node, follow: int) -> tuple[int, int]:
    """Returns the maximum work of a backtracking matcher at a part, given the characters that may follow.

    The work is at most `ways * n ** loops` paths. A decision that the next character determines is not counted: the
    other path fails immediately.
    """
    if node.kind in ("char", "anchor"):
        return 1, 0
    if node.kind == "sequence":
        ways, loops = 1, 0
        for part in reversed(node.parts):
            more, further = _effort(part, follow)
            ways, loops = ways * more, loops + further
            follow = part.first | (follow if part.empty else 0)
        return ways, loops
    if node.kind == "choice":
        efforts = [_effort(part, follow) for part in node.parts]
        seen, settled = 0, True
        for part in node.parts:
            begin = part.first | (follow if part.empty else 0)
            settled = settled and not seen & begin
            seen |= begin
        counts = [ways for ways, _ in efforts]
        return (max(counts) if settled else sum(counts)), max(loops for _, loops in efforts)
    part, (low, high) = node.parts[0], node.times
    settled = not part.first & follow
    if part.kind == "char":
        if settled or low == high:
            return 1, 0
        return (1, 1) if high is None or high > 8 else (high - low + 1, 0)
    if high == 1:
        ways, loops = _effort(part, follow)
        return (ways, loops) if settled else (ways + 1, loops)
    if part.empty or not settled or _effort(part, follow | part.first) != (1, 0):
        raise _Ambiguous
    return 1, 0
