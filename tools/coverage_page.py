"""Writes docs/coverage.md: the features and defects of tests/docs/features.yaml, each with its tests.

A test shows a row by its mark, `@pytest.mark.feature("E55", "G9")`, or by that of its module (`pytestmark`). Marks are
read from the sources without importing them, so that the page is written quickly.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "tests" / "docs" / "features.yaml"
PAGE = ROOT / "docs" / "coverage.md"


class Table(msgspec.Struct, forbid_unknown_fields=True):
    """The rows by part; the examples that show rows; the rows without a test."""

    features: dict[str, dict[str, str]]
    defects: dict[str, str]
    examples: dict[str, list[str]] = {}
    not_yet: list[str] = []

    def rows(self) -> list[str]:
        return [row for part in self.features.values() for row in part] + list(self.defects)


class Shown(NamedTuple):
    """One test or example, by its path from the root; an example has no name."""

    path: str
    name: str = ""

    def link(self) -> str:
        """Returns a Markdown link to the file, with the name of the test, or the path of the example, as code."""
        return f"[`{self.name or self.path}`](../{self.path})"


def table() -> Table:
    return msgspec.yaml.decode(TABLE.read_text(), type=Table)


def marks(root: Path = ROOT / "tests") -> dict[str, list[Shown]]:
    """Returns the tests with the mark of each row, in the order of their files."""
    found: dict[str, list[Shown]] = {}
    for path in sorted(root.rglob("test_*.py")):
        source = path.read_text()
        if "mark.feature(" not in source:
            continue
        for row, name in _marks(ast.parse(source)):
            found.setdefault(row, []).append(Shown(path.relative_to(root.parent).as_posix(), name))
    return found


def shown() -> dict[str, list[Shown]]:
    """Returns the examples and then the tests of each row."""
    found = {row: [Shown(path) for path in paths] for row, paths in table().examples.items()}
    for row, tests in marks().items():
        found.setdefault(row, []).extend(tests)
    return found


def markdown() -> str:
    there = shown()
    rows = table()
    lines = [
        "# What is covered",
        "",
        "The features of the controller styles, and the defects that they must never have, each with the tests and "
        "examples that show it. `python -m tools.coverage_page` writes this page.",
    ]
    for title, part in {**rows.features, "What must never happen": rows.defects}.items():
        lines += ["", f"## {title}", "", "| | | shown by |", "|---|---|---|"]
        lines += [
            f"| {row} | {text} | {'<br>'.join(one.link() for one in there.get(row, []))} |"
            for row, text in part.items()
        ]
    return "\n".join(lines) + "\n"


def _marks(module: ast.Module) -> Iterator[tuple[str, str]]:
    of_all = [
        row
        for statement in module.body
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "pytestmark"
        for row in _rows(statement.value)
    ]
    for statement in module.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and statement.name.startswith("test_"):
            own = [row for decorator in statement.decorator_list for row in _rows(decorator)]
            yield from ((row, statement.name) for row in dict.fromkeys(own + of_all))


def _rows(expression: ast.expr) -> Iterator[str]:
    for node in ast.walk(expression):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.feature":
            yield from (ast.literal_eval(argument) for argument in node.args)


if __name__ == "__main__":
    PAGE.write_text(markdown())
