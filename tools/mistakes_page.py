"""Writes docs/common-mistakes.md: the messages of common mistakes, as the code gives them.

The mistakes are the functions of `tests.controller.mistakes.cases`, which are run, and the wrong programs of
`tests.programs`, whose messages the tests compare with those of mypy.
"""

import ast
import asyncio
import inspect
import logging
import re
from itertools import pairwise
from pathlib import Path

from tests.controller.mistakes.cases import CASES
from tests.programs.test_programs import HERE, WRONG

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "common-mistakes.md"
_HEAD = """# Common mistakes

Each row is a test: the lines of the first column were run, and the message is that of the program. `python -m
tools.mistakes_page` writes this page.

## While a controller runs

The kinds are those of [writing a controller](controllers.md); `Note` has no status.

| mistake | message |
|---|---|
"""
_CHECKED = """
## Found by type checkers

mypy gives these messages for a function with `sp.Context[Team]`, before the program runs; pyright rejects the same
lines.

| mistake | message |
|---|---|
"""


async def markdown() -> str:
    """Returns the page."""
    running = [_row(inspect.getdoc(case) or "", inspect.getsource(case), await case()) for case in CASES]
    checked = []
    for program, (message, _) in WRONG.items():
        source = (HERE / "wrong" / f"{program}.py").read_text()
        checked.append(
            _row(
                ast.get_docstring(ast.parse(source)) or "",
                source,
                message if message.count('"') % 2 == 0 else f"{message}…",
            )
        )
    return _HEAD + "".join(running) + _CHECKED + "".join(checked)


def _row(title: str, source: str, message: str) -> str:
    lines = []
    for line, following in pairwise([*source.splitlines(), ""]):
        if line.endswith("# wrong"):
            lines += [line.strip(), following.strip()] if line.strip().startswith("@") else [line.strip()]
    code = "".join(f"<br>`{re.sub(r'  # .*$', '', line)}`" for line in lines)
    return f"| {_cell(title)}{_cell(code)} | {_cell(message).replace('<', '&lt;')} |\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


if __name__ == "__main__":
    logging.getLogger().addHandler(logging.NullHandler())
    PAGE.write_text(asyncio.run(markdown()))
