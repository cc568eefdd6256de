"""The text of an expression, and the format of its errors, as on the real server.

An error has an offset; a report prints each error with its line, its column and a caret, in the order of the text.
"""

from typing import NamedTuple

MAX_CODE_POINTS = 100_000
MAX_ERRORS = 100
_MAX_SNIPPET_BYTES = 16_384


class Problem(NamedTuple):
    """One error in an expression; an offset of -1 means no position."""

    offset: int
    message: str


class CompileError(Exception):
    """An expression that does not compile, with its errors and their positions."""

    def __init__(self, source: str, problems: list[Problem]) -> None:
        self.source = source
        self.problems = problems
        super().__init__(report(source, problems))


def report(source: str, problems: list[Problem]) -> str:
    """Formats every problem with its position, in the order of the text."""
    ordered = sorted(problems, key=lambda problem: problem.offset)
    shown = [_show(source, problem) for problem in ordered[:MAX_ERRORS]]
    if len(ordered) > MAX_ERRORS:
        shown.append(f"{len(ordered) - MAX_ERRORS} more errors were truncated")
    return "\n".join(shown)


def _show(source: str, problem: Problem) -> str:
    if problem.offset < 0:
        return f"ERROR: <input>:-1:0: {problem.message}"
    if not source:
        return f"ERROR: <input>:1:0: {problem.message}"
    start = source.rfind("\n", 0, problem.offset) + 1
    end = source.find("\n", start)
    line = source.count("\n", 0, start) + 1
    column = problem.offset - start
    head = f"ERROR: <input>:{line}:{column + 1}: {problem.message}"
    snippet = source[start:] if end < 0 else source[start:end]
    if len(snippet.encode("utf-8", "surrogatepass")) > _MAX_SNIPPET_BYTES:
        return head
    snippet = snippet.replace("\t", " ")
    dots = "".join("." if char < "\x80" else "\uff0e" for char in snippet[:column])
    caret = "^" if snippet[column : column + 1] < "\x80" else "\uff3e"
    return f"{head}\n | {snippet}\n | {dots}{caret}"
