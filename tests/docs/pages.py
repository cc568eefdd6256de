"""The pages as those who try them out read them: files to write, commands to type, and what is shown of their output.

A block whose first line is `# some/file.ext`, or `// some/file.ext`, is that file. In a `console` block a line after
`$ ` is a command, a line after `> ` goes on with it, and the others are what it prints. Times, spans of time,
revisions, and the ports, processes and sessions that were chosen may be others; `…` stands for any text, alone on a
line for any lines; and how many blanks there are does not count. A `sh` block is commands alone. What cannot be run
says so in a comment before it, `<!-- not run: why -->`; what goes on while others are typed, `<!-- in a terminal of
its own -->`: a `text` block after `<!-- shown there -->` is what it shows then, and `<!-- there, a key ends it: q
-->` is its end.
"""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_BLOCK = re.compile(
    r"(?:^<!-- (?P<note>(?:not run: |in a terminal of its own|shown there)[^>]*?) -->\n+)?"
    r"^```(?P<kind>\w+)[^\n]*\n(?P<body>.*?)^```$|^<!-- there, a key ends it: (?P<key>\S+) -->$",
    re.MULTILINE | re.DOTALL,
)
_FILE = re.compile(r"(?:#|//) ((?:[\w-]+/)*(?:[\w-]*\.[\w.-]+|Procfile|Tiltfile|Containerfile|Dockerfile))")

# What is another one at every start: how to find it on a page, and what it may be.
_VARIES = {
    "any": r".*",
    "revision": r"\d+",
    "time": r"\d\d:\d\d:\d\d(?:\.\d+)?",
    "span": r"\d+(?:\.\d+)?(?:ms|µs|[smhd])(?:\d+[smhd])?",
    "number": r"\d+",
    "session": r"[\w-]+",
}
_VARYING = re.compile(
    r"(?P<any>…)|(?P<revision>^\d+(?= \d\d:\d\d:\d\d)|(?<=\brv )\d+)|(?P<time>\b\d\d:\d\d:\d\d(?:\.\d+)?)"
    r"|(?P<span>\b\d+(?:\.\d+)?(?:ms|µs|[smhd])\b)|(?P<number>(?<=:)\d{5}\b|(?<=\bpid )\d+|(?<=\bprocess )\d+)"
    r"|(?P<session>(?<=\bsession )[\w-]+)"
)


class Block(NamedTuple):
    """A block of a page; one of the kind `key` is a key that is pressed."""

    kind: str
    body: str
    line: int
    not_run: str
    """Why it is not run, or nothing."""
    is_apart: bool
    """Whether it is typed in a terminal of its own, where it goes on, or is shown in that."""

    @property
    def file(self) -> str:
        """The file that it is, or nothing."""
        found = _FILE.fullmatch(self.body.partition("\n")[0])
        return found[1] if found and self.kind not in ("console", "sh") else ""


class Step(NamedTuple):
    """A command, and what is shown of its output; None where nothing is said of it."""

    command: str
    shown: str | None


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    return [
        Block(
            found["kind"] or "key",
            found["body"] or found["key"],
            text.count("\n", 0, found.end()) + 1 - found.group().count("\n"),
            (found["note"] or "").partition("not run: ")[2],
            (found["note"] or "").startswith(("in a terminal", "shown there")),
        )
        for found in _BLOCK.finditer(text)
    ]


def steps(block: Block) -> list[Step]:
    """The commands of a block, in order."""
    if block.kind == "sh":
        return [Step(line, None) for line in block.body.replace("\\\n", "").splitlines()]
    made: list[Step] = []
    for line in block.body.splitlines():
        if line.startswith("$ "):
            made.append(Step(line[2:], ""))
        elif not made:
            raise ValueError(f"line {block.line}: a console block begins with a command")
        elif line.startswith("> ") and not made[-1].shown:
            made[-1] = Step(f"{made[-1].command}\n{line[2:]}", "")
        else:
            made[-1] = Step(made[-1].command, f"{made[-1].shown}{line}\n")
    return made


def is_shown(printed: str, shown: str) -> bool:
    """Whether a command printed what a page shows of it."""
    return re.fullmatch(_pattern(shown), _plain(printed)) is not None


def is_shown_so_far(printed: str, shown: str) -> bool:
    """The same of a command that goes on: whether its output has come that far."""
    return re.search(_pattern(shown), _plain(printed)) is not None


def _plain(text: str) -> str:
    return "".join(f"{' '.join(line.split())}\n" for line in text.splitlines() if line.strip())


def _pattern(shown: str) -> str:
    return "".join(r"(?:.*\n)*?" if line == "…" else _of_line(line) + "\n" for line in _plain(shown).splitlines())


def _of_line(line: str) -> str:
    """What a line may be, given one that was seen once."""
    made, end = "", 0
    for found in _VARYING.finditer(line):
        made += re.escape(line[end : found.start()]) + _VARIES[str(found.lastgroup)]
        end = found.end()
    return made + re.escape(line[end:])
