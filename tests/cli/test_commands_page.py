"""The page about the commands is true: its examples run as it shows, its options and exit codes are those there are."""

import fnmatch
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from tests.cli.conftest import Command
from tools.commands_page import PAGE, written

from setpoint.cli.failing import MEANINGS

TEXT = PAGE.read_text()
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_page_says_of_each_command_what_the_command_says() -> None:
    assert written(TEXT) == TEXT, "write it anew: python -m tools.commands_page"


def test_the_page_has_all_exit_codes() -> None:
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", TEXT, re.MULTILINE)
    assert {int(code): meaning for code, meaning in rows} == MEANINGS


def test_the_examples_run_as_they_are_shown(setpoint: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = _BLOCK.findall(TEXT)
    [manifest] = [body for kind, body in blocks if kind == "yaml"]
    [session] = [body for kind, body in blocks if kind == "console"]
    monkeypatch.chdir(tmp_path)
    Path("shop.yaml").write_text(manifest)
    for step in session.removeprefix("$ ").split("\n$ "):
        command, _, shown = step.rstrip("\n").partition("\n")
        program, *arguments = shlex.split(command)
        if program != "setpoint":
            subprocess.run([program, *arguments], check=True)
            continue
        ran = setpoint(*arguments)
        assert ran.code == 0, f"{command}: {ran.stderr}"
        assert _is_shown(ran.stdout, shown), f"{command}\n{ran.stdout}"


def _is_shown(printed: str, shown: str) -> bool:
    """Whether lines are as the page shows them: blanks do not count, `*` stands for anything, `...` for lines."""

    def plain(text: str) -> list[str]:
        return [" ".join(line.split()) for line in text.splitlines() if line.strip()]

    wanted = "\n".join("*" if line == "..." else re.sub(r"([\[?])", r"[\1]", line) for line in plain(shown))
    wanted = wanted.replace("***", "[*][*][*]")
    return fnmatch.fnmatchcase("\n".join(plain(printed)), wanted)


@pytest.mark.parametrize(
    ("printed", "shown", "fits"),
    [("a  b\n", "a b", True), ("a 1s", "a *", True), ("a\nb\nc", "a\n...", True), ("a", "b", False)],
)
def test_what_is_shown_is_compared(printed: str, shown: str, fits: bool) -> None:
    assert _is_shown(printed, shown) is fits
