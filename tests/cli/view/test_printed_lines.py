"""Lines of output are printed as they were written, but for what would disturb the view."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.cli.app.view.log_lines import LogLine
from setpoint.cli.app.view.output_lines import Printed, cleaned
from setpoint.cli.output.terminal import Terminal

NOON = datetime(2026, 1, 2, 12, 0, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("written", "shown", "plain"),
    [
        ("hello", "hello", "hello"),
        ("\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m\x1b[0m", "red"),
        ("\x1b[31mleft red", "\x1b[31mleft red\x1b[0m", "left red"),
        ("\x1b[2J\x1b[Hcleared \x1bc", "cleared ", "cleared "),
        ("\x1b]0;title\x07text", "text", "text"),
        ("10%\r50%\r100%\r", "100%", "100%"),
        ("a\tb\x07", "a        b^G", "a        b^G"),
        ("日本", "日本", "日本"),
    ],
)
def test_colours_stay_and_nothing_else_reaches_the_terminal(written: str, shown: str, plain: str) -> None:
    assert cleaned(written, colours=True) == shown
    assert cleaned(written, colours=False) == plain


@given(st.text(alphabet="\x1b[]0;1mHJKA\x07\r\t x\x9b"))
def test_whatever_is_written_no_command_but_a_colour_gets_through(written: str) -> None:
    shown = cleaned(written, colours=False)
    assert all(char >= " " and char not in "\x7f\x9b" for char in shown)


def test_a_line_says_when_who_and_which_output() -> None:
    printed = Printed(Terminal(), ["api", "migrate"], UTC)
    printed.widen(["api.1", "migrate"])
    assert printed.line(LogLine("api.1", "api", NOON, "listening")) == "12:00:05 api.1   │ listening"
    assert printed.line(LogLine("migrate", "migrate", NOON, "careful", is_error=True)) == "12:00:05 migrate ┃ careful"
    assert printed.line(LogLine("api.1", "api", NOON, "", skipped=12345)) == (
        "12:00:05 api.1   ┆ … 12,345 lines skipped (printed too fast) · setpoint logs api"
    )


def test_the_replicas_of_a_part_have_its_colour() -> None:
    printed = Printed(Terminal(80, True), ["api", "web"], UTC)
    first, second, other = (
        printed.line(LogLine(name, name.partition(".")[0], NOON, "x")).split("\x1b[")[3].partition("m")[0]
        for name in ("api.1", "api.2", "web")
    )
    assert first == second != other
