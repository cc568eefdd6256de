"""Writes the page that says what shows each feature and each defect in the table of tests/docs/features.yaml.

A test shows a row by its mark, `@pytest.mark.feature("E55", "G9")`, or by that of its module (`pytestmark`). Marks are
read from the sources, so that the page is made in a moment and nothing has to be imported.
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
    """What there is to show, by part and row; rows that programs show; rows that nothing shows yet."""

    features: dict[str, dict[str, str]]
    defects: dict[str, str]
    examples: dict[str, list[str]] = {}
    not_yet: list[str] = []

    def rows(self) -> list[str]:
        return [row for part in self.features.values() for row in part] + list(self.defects)


class Shown(NamedTuple):
    """One test or program, by its path from the root; an example has no name."""

    path: str
    name: str = ""

    def link(self) -> str:
        text = self.name.removeprefix("test_").replace("_", " ") or self.path
        return f"[{text}](../{self.path})"


def table() -> Table:
    return msgspec.yaml.decode(TABLE.read_text(), type=Table)


def marks(root: Path = ROOT / "tests") -> dict[str, list[Shown]]:
    """The tests that bear the mark of each row, in the order of their files."""
    found: dict[str, list[Shown]] = {}
    for path in sorted(root.rglob("test_*.py")):
        source = path.read_text()
        if "mark.feature(" not in source:
            continue
        for row, name in _marks(ast.parse(source)):
            found.setdefault(row, []).append(Shown(path.relative_to(root.parent).as_posix(), name))
    return found


def shown() -> dict[str, list[Shown]]:
    """What shows each row: programs, then tests."""
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
        "Every row says what the ways of writing controllers do, and which tests and examples show it. "
        "The page is made by `python -m tools.coverage_page`.",
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
