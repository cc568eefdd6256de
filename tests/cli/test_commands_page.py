"""The page about the commands is true: its options and exit codes are those there are. tests/docs runs its examples."""

import re

from tools.commands_page import PAGE, written

from setpoint.cli.support.errors import MEANINGS

TEXT = PAGE.read_text()


def test_the_page_says_of_each_command_what_the_command_says() -> None:
    assert written(TEXT) == TEXT, "write it anew: python -m tools.commands_page"


def test_the_page_has_all_exit_codes() -> None:
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", TEXT, re.MULTILINE)
    assert {int(code): meaning for code, meaning in rows} == MEANINGS
