"""Measures how plain the prose of the project is, and lets no package become vaguer.

    python -m tools.prose              # a table by package
    python -m tools.prose --check      # fails where a rate is above the recorded one
    python -m tools.prose --record     # records lower rates
    python -m tools.prose --worst 20   # the files with the most vague words

Two rates are counted: words that stand for no named subject (it, somebody, nothing, ...) in a thousand words, and
docstrings that open with a question word in a hundred docstrings. The texts are docstrings (also those of attributes,
which follow an assignment), help texts of commands, messages of errors and log lines, and the pages of the
documentation. `tools/prose.json` has the recorded rates.
"""

import ast
import json
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

VAGUE = frozenset(
    [
        "what",
        "who",
        "whom",
        "whose",
        "it",
        "somebody",
        "someone",
        "nobody",
        "anybody",
        "something",
        "nothing",
        "anything",
        "thing",
        "things",
    ]
)
QUESTIONS = frozenset(["what", "who", "whose", "how", "whether", "where", "when"])
# Packages whose rates must be under the aim, whatever was recorded.
STRICT = frozenset(["client", "controller", "flow", "testing", "app", "config", "cli", "docs"])
AIM_VAGUE, AIM_OPENINGS = 20.0, 2.0

_ROOT = Path(__file__).resolve().parent.parent
_RECORD = _ROOT / "tools" / "prose.json"
_WORD = re.compile(r"[A-Za-z][A-Za-z']*")
_CODE = re.compile(
    r"```.*?```|``[^`]*``|`[^`]*`|^    [^\n]*$|<[^>]*>|\]\([^)]*\)|https?://\S+", re.DOTALL | re.MULTILINE
)
_ERROR_CALLS = frozenset(
    ["debug", "info", "warning", "error", "exception", "critical", "echo", "secho", "fail", "warn"]
)


class Text(NamedTuple):
    """A piece of prose. Only docstrings count for the openings."""

    words: list[str]
    is_docstring: bool


class Rate(NamedTuple):
    """The counts of some texts."""

    words: int = 0
    vague: int = 0
    docstrings: int = 0
    questions: int = 0

    def plus(self, text: Text) -> "Rate":
        vague = sum(word in VAGUE for word in text.words)
        opens = text.is_docstring and bool(text.words) and text.words[0] in QUESTIONS
        return Rate(
            self.words + len(text.words),
            self.vague + vague,
            self.docstrings + text.is_docstring,
            self.questions + opens,
        )

    def and_of(self, other: "Rate") -> "Rate":
        return Rate(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    @property
    def vague_rate(self) -> float:
        """Vague words in a thousand words."""
        return 1000 * self.vague / self.words if self.words else 0.0

    @property
    def opening_rate(self) -> float:
        """Docstrings in a hundred that open with a question word."""
        return 100 * self.questions / self.docstrings if self.docstrings else 0.0


def words_of(text: str) -> list[str]:
    """Returns the words of a text in lower case, without code, names in backquotes and addresses."""
    return [word.lower().removesuffix("'s") for word in _WORD.findall(_CODE.sub(" ", text))]


def texts_of_module(source: str) -> Iterator[Text]:
    """Yields the docstrings of a module, and the texts that its users read: helps, errors and log lines."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found = ast.get_docstring(node)
            if found:
                yield Text(words_of(found), is_docstring=True)
            yield from _attribute_docstrings(node.body)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield from _strings(node.exc.args)
        if isinstance(node, ast.Call):
            yield from _strings([keyword.value for keyword in node.keywords if keyword.arg in ("help", "epilog")])
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in _ERROR_CALLS:
                yield from _strings(node.args)


def _attribute_docstrings(body: list[ast.stmt]) -> Iterator[Text]:
    """Yields the strings that follow an assignment."""
    for statement, following in pairwise(body):
        match statement, following:
            case (ast.Assign() | ast.AnnAssign(), ast.Expr(ast.Constant(str() as text))):
                yield Text(words_of(text), is_docstring=True)


def _strings(nodes: Iterable[ast.expr]) -> Iterator[Text]:
    for node in nodes:
        for part in node.values if isinstance(node, ast.JoinedStr) else [node]:
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield Text(words_of(part.value), is_docstring=False)


def rate_of(path: Path) -> Rate:
    """Returns the counts of a file of Python or Markdown."""
    source = path.read_text(encoding="utf-8")
    texts = texts_of_module(source) if path.suffix == ".py" else [Text(words_of(source), is_docstring=False)]
    found = Rate()
    for text in texts:
        found = found.plus(text)
    return found


def files() -> dict[str, list[Path]]:
    """Returns the measured files by package; the pages of the documentation are a package too."""
    found: dict[str, list[Path]] = {}
    package = _ROOT / "src" / "setpoint"
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).parts[0].removesuffix(".py")
        found.setdefault(name, []).append(path)
    pages = [_ROOT / "README.md", _ROOT / "CONTRIBUTING.md", _ROOT / "CHANGELOG.md"]
    found["docs"] = [*pages, *sorted((_ROOT / "docs").rglob("*.md"))]
    return found


def rates() -> dict[str, Rate]:
    """Returns the counts of every package, and those of all source files together as `src`."""
    found: dict[str, Rate] = {}
    whole = Rate()
    for name, paths in files().items():
        found[name] = Rate()
        for path in paths:
            found[name] = found[name].and_of(rate_of(path))
        if name != "docs":
            whole = whole.and_of(found[name])
    return {**found, "src": whole}


def problems(found: dict[str, Rate], recorded: dict[str, list[float]]) -> list[str]:
    """Returns a line for each package that is vaguer than it was, or than it may be."""
    lines = []
    for name, rate in found.items():
        for kind, value, allowed in zip(
            ("vague words per 1,000 words", "docstrings in 100 that open with a question word"),
            (rate.vague_rate, rate.opening_rate),
            recorded.get(name, [AIM_VAGUE, AIM_OPENINGS]),
            strict=True,
        ):
            if value > allowed + 0.05:
                lines.append(
                    f"{name}: {value:.1f} {kind}, at most {allowed:.1f}: name the subject and begin with a verb"
                )
    return lines


def main(arguments: list[str]) -> int:
    found = rates()
    recorded = json.loads(_RECORD.read_text()) if _RECORD.exists() else {}
    if "--check" in arguments:
        lines = problems(found, recorded)
        print("\n".join(lines) or "the prose is as plain as recorded, or plainer")
        return 1 if lines else 0
    if "--record" in arguments:
        kept = {
            name: [
                round(min(new, old), 1)
                for new, old in zip((rate.vague_rate, rate.opening_rate), recorded.get(name, [1000, 100]), strict=True)
            ]
            for name, rate in sorted(found.items())
        }
        lines = [f'  "{name}": {json.dumps(values)}' for name, values in kept.items()]
        _RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    if "--worst" in arguments:
        number = int(arguments[arguments.index("--worst") + 1])
        single = [(rate_of(path), path) for paths in files().values() for path in paths]
        for rate, path in sorted(single, key=lambda each: each[0].vague, reverse=True)[:number]:
            print(f"{rate.vague:5} {rate.vague_rate:6.1f} {rate.opening_rate:6.1f}%  {path.relative_to(_ROOT)}")
        return 0
    print(f"{'package':<14} {'words':>7} {'vague/1,000':>12} {'docstrings':>11} {'questions':>10}")
    for name, rate in sorted(found.items(), key=lambda item: -item[1].words):
        print(f"{name:<14} {rate.words:>7} {rate.vague_rate:>12.1f} {rate.docstrings:>11} {rate.opening_rate:>9.1f}%")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
