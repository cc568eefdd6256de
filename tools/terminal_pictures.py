"""Pictures of a terminal for the documentation: runs the example shop in tmux and draws the screen.

    python -m tools.terminal_pictures

Writes `docs/pictures/up.svg` and `why.svg`. Needs tmux. Run this again after a change of what the commands print.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
COLUMNS, LINES = 96, 30
CHARACTER, LINE, MARGIN, BAR = 8.2, 19, 16, 30
# The foreground colours of ANSI escape codes on a dark background.
COLOURS = dict(
    zip(
        [str(code) for code in (*range(30, 38), *range(90, 98))],
        (
            *("#64748b", "#f87171", "#4ade80", "#fbbf24", "#60a5fa", "#c084fc", "#22d3ee", "#e2e8f0"),
            *("#94a3b8", "#fca5a5", "#86efac", "#fde68a", "#93c5fd", "#d8b4fe", "#67e8f9", "#ffffff"),
        ),
        strict=True,
    )
)
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")


class Span(NamedTuple):
    """Characters of one style, from a column on."""

    column: int
    text: str
    style: str


class Terminal:
    """A tmux session of its own server, in a directory."""

    def __init__(self, directory: Path) -> None:
        self._tmux = ("tmux", "-L", f"pictures-{os.getpid()}", "-f", "/dev/null")
        size = ("-x", str(COLUMNS), "-y", str(LINES))
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PS1": "$ "}
        shell = ("env", "-u", "TMUX", "bash", "--norc", "--noprofile")
        subprocess.run(
            [*self._tmux, "new-session", "-d", *size, "-c", str(directory), *shell], check=True, env=environment
        )

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=False)

    def type(self, text: str) -> None:
        subprocess.run([*self._tmux, "send-keys", "-l", text], check=True)
        subprocess.run([*self._tmux, "send-keys", "Enter"], check=True)

    def key(self, name: str) -> None:
        subprocess.run([*self._tmux, "send-keys", name], check=True)

    def screen(self) -> list[str]:
        """Returns the lines of the screen with their escape codes, without empty lines at the end."""
        done = subprocess.run([*self._tmux, "capture-pane", "-e", "-p"], check=True, capture_output=True, text=True)
        return done.stdout.rstrip("\n").split("\n")

    def until(self, text: str, seconds: float = 60.0) -> list[str]:
        """Returns the screen as soon as a text is visible."""
        deadline = time.monotonic() + seconds
        while True:
            lines = self.screen()
            if any(text in _ESCAPE.sub("", line) for line in lines):
                return lines
            if time.monotonic() > deadline:
                raise SystemExit("\n".join(lines) + f"\n\nthe terminal never showed {text!r}")
            time.sleep(0.1)

    def run(self, command: str) -> list[str]:
        """Runs a command on a clear screen; returns the command and its output."""
        self.type("clear")
        time.sleep(0.5)
        self.type(f"{command}; printf '\\033[8mdone\\033[0m'")
        self.until("done$")
        return [f"\x1b[32m$\x1b[0m {command}", *self.screen()[1:-1]]


def spans(line: str, style: dict[str, str]) -> Iterator[Span]:
    """Splits a line with escape codes by style. `style` is that of the end of the line before, and is updated."""
    column = 0
    for index, part in enumerate(_ESCAPE.split(line)):
        if index % 2:
            for code in part.split(";"):
                _apply(style, code)
        elif part:
            yield Span(column, part, "".join(f' {name}="{value}"' for name, value in style.items()))
            column += len(part)


def _apply(style: dict[str, str], code: str) -> None:
    if code in ("", "0"):
        style.clear()
    elif code == "1":
        style["font-weight"] = "700"
    elif code == "2":
        style["opacity"] = "0.65"
    elif code == "39":
        style.pop("fill", None)
    elif code in COLOURS:
        style["fill"] = COLOURS[code]


def svg(lines: list[str], title: str) -> str:
    """Draws a terminal window with these lines."""
    width = int(COLUMNS * CHARACTER + 2 * MARGIN)
    height = BAR + LINE * len(lines) + MARGIN
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-labelledby="t" font-family="{FONTS}" font-size="13.5">',
        f'  <title id="t">{escape(title)}</title>',
        f'  <rect width="{width}" height="{height}" rx="8" fill="#0f172a"/>',
        *(f'  <circle cx="{MARGIN + 4 + 18 * at}" cy="15" r="5" fill="#334155"/>' for at in range(3)),
    ]
    style: dict[str, str] = {}
    for row, line in enumerate(lines):
        y = BAR + LINE * row + 13
        for span in spans(line, style):
            if span.text.strip():
                looks = span.style if "fill=" in span.style else f'{span.style} fill="#e2e8f0"'
                x = MARGIN + span.column * CHARACTER
                length = f' textLength="{len(span.text) * CHARACTER:.1f}" xml:space="preserve"'
                drawn.append(f'  <text x="{x:.1f}" y="{y}"{length}{looks}>{escape(span.text)}</text>')
    return "\n".join([*drawn, "</svg>", ""])


def main() -> None:
    if shutil.which("tmux") is None:
        raise SystemExit("tools.terminal_pictures needs tmux: install the package tmux")
    app = Path(tempfile.gettempdir()) / "shop"  # a random name would be in the picture
    shutil.copytree(ROOT / "examples" / "apps" / "shop", app)
    terminal = Terminal(app)
    try:
        _draw(terminal, app)
    finally:
        subprocess.run([sys.executable, "-m", "setpoint", "down"], cwd=app, check=False, capture_output=True)
        terminal.close()
        shutil.rmtree(app)


def _draw(terminal: Terminal, app: Path) -> None:
    terminal.type("clear; setpoint up")
    terminal.until("critical path")
    time.sleep(2)  # the lines of output of the first seconds
    lines = ["\x1b[32m$\x1b[0m setpoint up", *(line for line in terminal.screen() if line.strip())]
    _write("up", lines, "A terminal after `setpoint up`: the parts of the app, their states and the critical path")
    terminal.key("d")
    terminal.until("keeps running")
    source = (app / "web.py").read_text()
    (app / "web.py").write_text(source.replace("import ", "import missing_module\nimport ", 1))
    time.sleep(4)  # the service is restarted, fails, and is restarted again
    _write("why", terminal.run("setpoint why web"), "A terminal with the output of `setpoint why web`")


def _write(name: str, lines: list[str], title: str) -> None:
    (PICTURES / f"{name}.svg").write_text(svg([line.rstrip() for line in lines], title))


if __name__ == "__main__":
    main()
