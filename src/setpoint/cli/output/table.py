"""Tables with columns as wide as their contents, and no wider than the terminal.

If a table is too wide, its widest columns are shortened. If that is not enough, the least important columns are left
out; the first column, which is the name, is shortened last. Redirected output is never shortened.
"""

import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from setpoint.cli.output.terminal import Meaning, Terminal, harmless, meaning_of, shortened, width_of

_GAP = "   "
# The minimum width of a column.
_NARROWEST = 8
# Columns with states, which are coloured.
_STATES = frozenset(
    ("STATE", "STATUS", "HEALTH", "PHASE", "READY", "AVAILABLE", "ESTABLISHED", "RESULT", "SYNCED", "VERDICT")
)
# Columns that are left out first if the terminal is too narrow.
_UNIMPORTANT = ("KIND", "RESTARTS", "AGE")


class Cell(NamedTuple):
    """A cell with an explicit colour."""

    text: str
    meaning: Meaning = ""


def render(
    headers: Sequence[str],
    rows: Sequence[Sequence[str | Cell]],
    terminal: Terminal,
    *,
    with_headers: bool = True,
    fit: bool = True,
) -> list[str]:
    """Returns the lines of a table. With `fit`, columns are shortened to the width of the terminal."""
    cells = [[_cell(header, value) for header, value in zip(headers, row, strict=True)] for row in rows]
    if with_headers:
        cells.insert(0, [Cell(header, "heading") for header in headers])
    if not cells:
        return []
    widths = [max(width_of(row[index].text) for row in cells) for index in range(len(headers))]
    shown = list(range(len(headers)))
    if fit and terminal.width is not None:
        shown, widths = _fitted(headers, widths, terminal.width)
    return [_line([row[index] for index in shown], widths, terminal) for row in cells]


def render_with_texts(
    headers: Sequence[str],
    rows: Sequence[Sequence[str | Cell]],
    texts: Mapping[str, Sequence[str]],
    terminal: Terminal,
) -> list[str]:
    """Returns a table with text columns that are never shortened, such as URLs and reasons. Texts that do not fit
    beside the other columns are placed below their row.
    """
    texts = {header: column for header, column in texts.items() if any(column)}
    names = list(texts)
    for count in range(len(names), -1, -1):
        beside = names[:count]
        all_headers = (*headers, *beside)
        cells = [[*row, *(texts[name][index] for name in beside)] for index, row in enumerate(rows)]
        if terminal.width is None or _width(render(all_headers, cells, Terminal())) <= terminal.width:
            break
    first, *lines = render(all_headers, cells, terminal)
    found = [first]
    for index, line in enumerate(lines):
        found.append(line)
        for name in names[count:]:
            found += [terminal.paint(each, "quiet") for each in _below(texts[name][index], terminal.width or 0)]
    return found


def _width(lines: Sequence[str]) -> int:
    return max(map(width_of, lines))


def _below(text: str, width: int) -> list[str]:
    return textwrap.wrap(
        _one_line(text),
        width,
        initial_indent="  └ ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _cell(header: str, value: str | Cell) -> Cell:
    if isinstance(value, Cell):
        return value._replace(text=_one_line(value.text))
    text = _one_line(value)
    return Cell(text, state_meaning(text) if header in _STATES else "")


def _one_line(text: str) -> str:
    return harmless(text.replace("\n", " "))


def state_meaning(text: str) -> Meaning:
    """Returns the meaning of a state cell: a word, or `1/2`."""
    have, slash, wanted = text.partition("/")
    if slash and have.isdecimal() and wanted.isdecimal():
        return "good" if have == wanted else "pending"
    return meaning_of(text.partition(",")[0])


def _fitted(headers: Sequence[str], widths: Sequence[int], room: int) -> tuple[list[int], list[int]]:
    """Returns the shown columns and their widths."""
    shown = list(range(len(widths)))
    leaving = _least_important_first(headers)
    while True:
        found = _shortened_widths([widths[index] for index in shown], room)
        if _total(found) <= room or not leaving:
            break
        shown.remove(leaving.pop(0))
    if found and _total(found) > room:
        # Only the name and the state are left.
        found[0] = max(found[0] - (_total(found) - room), 1)
    return shown, found


def _least_important_first(headers: Sequence[str]) -> list[int]:
    """Returns the columns that may be left out: the known unimportant ones, then the others from the right. The name
    and the state always stay."""
    known = [headers.index(name) for name in _UNIMPORTANT if name in headers[1:]]
    others = [index for index in range(len(headers) - 1, 0, -1) if index not in known]
    states = [index for index in others if headers[index] in _STATES]
    return [*known, *(index for index in others if index not in states), *states[:-1]]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _shortened_widths(widths: list[int], room: int) -> list[int]:
    found = list(widths)
    while _total(found) > room:
        widest = max(range(1, len(found)), key=lambda index: found[index], default=None)
        if widest is None or found[widest] <= _NARROWEST:
            return found
        found[widest] -= 1
    return found


def _line(row: Sequence[Cell], widths: Sequence[int], terminal: Terminal) -> str:
    parts = []
    for cell, width in zip(row, widths, strict=True):
        text = shortened(cell.text, width)
        padding = " " * (width - width_of(text))
        parts.append(terminal.paint(text, cell.meaning) + padding)
    return _GAP.join(parts).rstrip()
