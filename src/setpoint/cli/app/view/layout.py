"""The layout of the view: the header, the table of parts, and the lines below, for any terminal width. Pure functions.

No line is as wide as the terminal, so that no line wraps. Redirected output is never shortened.
"""

import re
import textwrap
from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from setpoint.cli.app.view.model import Row, Verdict
from setpoint.cli.app.view.question import Question
from setpoint.cli.output.terminal import Meaning, Terminal, harmless, shortened, width_of

if TYPE_CHECKING:
    from setpoint.app.changes import ObjectChange

KEYS = "[l]ogs [r]estart [d]etach [q]uit"
JOINED_KEYS = "[l]ogs [r]estart [q] leave"
_INDENT = "  "
_GAP = "  "
# The initial column widths, so that the table does not move while states change.
_STATE_WIDTH = len("waiting for db")
_SECONDS_WIDTH = len("12.3s")
# The effect of a change on a task that is not running, or that must not run again.
_LATER = "at its next run"
# The kinds of parts.
_PARTS = ("Executable", "ExecutableReplicaSet", "Container", "Task")
# The names of workload fields in the app file.
_WORDS = {
    "executablePath": "run",
    "command": "entrypoint",
    "workingDirectory": "dir",
    "envFiles": "env_file",
    "ambientEnvironment": "inherit_env",
    "dependsOn": "after",
    "healthProbes": "probes",
    "restartPolicy": "restart",
    "maxRestarts": "restart",
    "restartBackoff": "restart",
    "stopSignal": "stop",
    "stopTimeout": "stop",
    "volumeMounts": "volumes",
    "pullPolicy": "pull",
    "persistent": "keep",
    "serves": "ports",
}
# The minimum width of a column.
_NARROWEST = 8
# Marks columns that are hidden because the terminal is too narrow.
_LEFT_OUT = -1
_WITHOUT = ((), ("kind",), ("kind", "detail"), ("kind", "detail", "seconds"))


class Widths(NamedTuple):
    """The column widths. They only grow, so that the table does not flicker."""

    name: int = 0
    kind: int = 0
    detail: int = 0
    state: int = _STATE_WIDTH
    seconds: int = _SECONDS_WIDTH

    @property
    def line_width(self) -> int:
        """The width of a line without its last column."""
        shown = [width for width in self if width != _LEFT_OUT]
        return len(_INDENT) + sum(shown) + len(_GAP) * (len(shown) - 1)

    def grown(self, rows: Sequence[Row]) -> "Widths":
        """Returns widths that also fit the rows."""
        return Widths(
            max((self.name, *(width_of(row.name) for row in rows))),
            max((self.kind, *(width_of(row.kind) for row in rows))),
            max((self.detail, *(width_of(row.detail) for row in rows))),
            max((self.state, *(width_of(row.state) for row in rows))),
        )

    def within(self, columns: int) -> "Widths":
        """Returns widths that fit into the columns: the widest column is shortened first, then columns are hidden."""
        for without in _WITHOUT:
            found = self._replace(**dict.fromkeys(without, _LEFT_OUT))
            while found.line_width > columns:
                name, width = max(
                    (("detail", found.detail), ("state", found.state), ("name", found.name)), key=itemgetter(1)
                )
                if width <= _NARROWEST:
                    break
                found = found._replace(**{name: width - 1})
            if found.line_width <= columns:
                return found
        half = max((columns - len(_INDENT) - len(_GAP)) // 2, 1)
        return found._replace(name=half, state=half)


def header(app: str, session: str, dashboard: str, place: Terminal) -> str:
    """Returns the first line: app, session and dashboard."""
    session = f" · session {session}" if session else ""
    found = f"{app}{session}{f' · {dashboard}' if dashboard else ''}"
    return place.paint(app, "heading") + _cut(found, place)[len(app) :]


def table(rows: Sequence[Row], widths: Widths, place: Terminal) -> list[str]:
    """Returns one line per row. On a narrow terminal the last column is shortened first."""
    if place.width is None:
        return [_line(row, widths, None, place) for row in rows]
    fitting = widths.within(place.width - 1)
    left = place.width - 1 - fitting.line_width - len(_GAP)
    return [_line(row, fitting, max(left, 0), place) for row in rows]


def _line(row: Row, widths: Widths, left: int | None, place: Terminal) -> str:
    cells: list[tuple[str, int, Meaning]] = [
        (row.name, widths.name, ""),
        (row.kind, widths.kind, "quiet"),
        (row.detail, widths.detail, ""),
        (row.state, widths.state, row.meaning),
        (f"{_seconds(row):>{_SECONDS_WIDTH}}", widths.seconds, ""),
    ]
    texts = [place.paint(text := shortened(harmless(cell), width), meaning) + " " * (width - width_of(text))
             for cell, width, meaning in cells if width != _LEFT_OUT]  # fmt: skip
    note = harmless(row.note)
    if left is not None:
        note = shortened(note, left) if left >= _NARROWEST or width_of(note) <= left else ""
    return (_INDENT + _GAP.join([*texts, place.paint(note, "quiet")])).rstrip()


def _seconds(row: Row) -> str:
    """Returns the duration as text. Running parts show whole seconds only, so that quick ones show none."""
    if row.seconds is None or (row.seconds < 1 and not row.took):
        return ""
    if row.seconds >= 6000:
        return f"{int(row.seconds // 3600)}h"
    return f"{row.seconds:.1f}s" if row.took and row.seconds < 100 else f"{int(row.seconds)}s"


def folded(rows: Sequence[Row], most: int) -> tuple[list[Row], str]:
    """Returns the rows that fit, unready parts first, and a summary of the others."""
    if len(rows) <= most:
        return list(rows), ""
    shown = [row for row in rows if row.meaning not in ("good", "quiet")]
    shown += [row for row in rows if row.meaning == "quiet"]
    shown += [row for row in rows if row.meaning == "good"]
    chosen = set(map(id, shown[: max(most - 1, 0)]))
    kept = [row for row in rows if id(row) in chosen]
    others = [row for row in rows if id(row) not in chosen]
    good = sum(row.meaning == "good" for row in others)
    counts = [f"{good} ready" if good else "", f"{len(others) - good} not ready" if len(others) > good else ""]
    return kept, f"{_INDENT}… {len(others)} more: {', '.join(filter(None, counts))}"


def starting_line(rows: Sequence[Row], seconds: float | None, keys: str, place: Terminal) -> list[str]:
    """Returns the lines below the table while parts start."""
    ready = sum(row.meaning == "good" for row in rows)
    spent = f" · {int(seconds)}s" if seconds is not None and seconds >= 1 else ""
    return _with_keys(f"{ready} of {len(rows)} ready{spent}", "pending", keys, place)


def ready_line(seconds: float | None, path: Sequence[str], keys: str, place: Terminal) -> list[str]:
    """Returns the lines below the table when all parts are ready."""
    text = "all ready" if seconds is None else f"ready in {seconds:.1f}s"
    if len(path) > 1:
        text += _path(path, (place.width or 1 << 16) - 1 - width_of(text))
    return _with_keys(text, "good", keys, place)


def _path(names: Sequence[str], room: int) -> str:
    """Returns the critical path, shortened in the middle if needed."""
    for left_out in range(len(names) - 1):
        # The names in the middle are left out.
        first = (len(names) - left_out + 1) // 2
        steps = [*names[:first], "…", *names[first + left_out :]] if left_out else names
        text = f" · critical path {' → '.join(steps)}"
        if width_of(text) <= room:
            return text
    return ""


def stuck_line(rows: Sequence[Row], verdict: Verdict, keys: str, place: Terminal) -> list[str]:
    """Returns the lines below the table when waiting longer is useless."""
    ready = sum(row.meaning == "good" for row in rows)
    bad = [row.name for row in rows if row.meaning == "bad"]
    waiting = [name for name in verdict.waiting if name not in bad]
    text = f"{ready} of {len(rows)} ready · {_and(bad)} failed"
    if waiting:
        text += f" · {_and(waiting)} {'waits' if len(waiting) == 1 else 'wait'}"
    return _with_keys(text, "bad", keys, place)


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1] if names else "")))


def _with_keys(text: str, meaning: Meaning, keys: str, place: Terminal) -> list[str]:
    """Returns the text with the key hints at the end of the line, or on a second line if the first is too short."""
    if not keys:
        return [place.paint(_cut(text, place), meaning)]
    room = (place.width or 0) - 1
    gap = room - width_of(text) - len(keys)
    if gap < 2:
        return [place.paint(_cut(text, place), meaning), place.paint(_cut(keys, place), "quiet")]
    return [f"{place.paint(text, meaning)}{' ' * min(gap, 6)}{place.paint(keys, 'quiet')}"]


def _cut(text: str, place: Terminal) -> str:
    text = harmless(text)
    return text if place.width is None else shortened(text, place.width - 1)


def question(parts: Question, place: Terminal) -> list[str]:
    """Returns the lines that ask which part to restart, by number."""
    words = [f"{number} {name}" for number, name in enumerate(parts.names, 1)] + ["a all", "Esc none"]
    lines, line = [], "restart which?"
    room = (place.width or 1 << 16) - 1
    for word in words:
        if width_of(line) + 2 + width_of(word) > room:
            lines.append(line)
            line = " " * len("restart which?")
        line += f"  {word}"
    return [place.paint(each, "heading") for each in (*lines, f"{line}  {parts.typed}".rstrip())]


def help_lines(joined: bool, place: Terminal) -> list[str]:
    """Returns the descriptions of the keys."""
    rows = [
        ("l", "show or hide the output of the app"),
        ("r", "restart a part or all services"),
        *([] if joined else [("d", "detach: close this view, the app keeps running")]),
        ("q", "close this view; the app keeps running" if joined else "stop the app"),
        ("┃", "marks lines of stderr"),
    ]
    return [place.paint(_cut(f"{_INDENT}{key}  {text}", place), "quiet") for key, text in rows]


def below(text: str, place: Terminal) -> list[str]:
    """Returns the lines of an explanation: text is wrapped; program output, which begins with a bar, is cut."""
    if place.width is None or text.startswith("│"):
        return [place.paint(_cut(_INDENT + text, place), "quiet")]
    room = max(place.width - 1, _NARROWEST)
    lines = textwrap.wrap(harmless(text), room, initial_indent=_INDENT, subsequent_indent=_INDENT * 2)
    return [place.paint(line, "quiet") for line in lines]


def change_lines(changes: "Sequence[ObjectChange]", place: Terminal) -> list[str]:
    """Returns one line per change of the app file, with its effect."""
    from setpoint.app.changes import EFFECTS

    lines = []
    # A part that changes its kind, for example a process that gets replicas, is both removed and added.
    both = {each.name for each in changes if each.what == "added" and each.kind in _PARTS} & {
        each.name for each in changes if each.what == "removed" and each.kind in _PARTS
    }
    for each in changes:
        if each.kind == "App":
            continue  # the changes of the App object repeat the others
        if each.kind in _PARTS and each.name in both and each.what != "changed":
            if each.what == "added":
                lines.append(_cut(f"{_INDENT}~ {each.name}: {_new_kind(each)} · {EFFECTS['recreate']}", place))
            continue
        name = each.name if each.kind in _PARTS else f"{each.kind} {each.name}"
        fields = ", ".join(dict.fromkeys(_field(path, each.kind) for path in each.fields)) or each.why
        effect = _LATER if each.kind == "Task" and each.effect == "live" else EFFECTS[each.effect]
        sign = {"added": "+", "changed": "~", "removed": "-"}[each.what]
        text = f"{sign} {name}: {fields or 'changed'} · {effect}" if each.what == "changed" else (
            f"{sign} {name} {each.what}")  # fmt: skip
        lines.append(_cut(f"{_INDENT}{text}", place))
    return lines


def _new_kind(change: "ObjectChange") -> str:
    """Returns the new kind of a part in the terms of the app file."""
    assert change.new is not None
    if change.kind == "ExecutableReplicaSet":
        return f"replicas {change.new['spec'].get('replicas', 1)}"
    return {"Executable": "a single process", "Container": "a container", "Task": "a task"}[change.kind]


def _field(path: str, kind: str) -> str:
    """Returns the name of a field in the app file, or its path if the app file has no name for that field."""
    is_process = kind in ("Executable", "ExecutableReplicaSet") or path.startswith("spec.template.executable.")
    for beginning in ("spec.template.spec.", "spec.template.executable.", "spec.template.container.", "spec."):
        path = path.removeprefix(beginning)
    first = re.split(r"[.\[]", path)[0]
    if first == "args":
        return "run" if is_process else "args"
    return _WORDS.get(first) or path.replace("env[", "env ").replace("].value", "")
