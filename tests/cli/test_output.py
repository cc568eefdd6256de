"""Tables, colours, templates and durations: what does not need a server."""

import io
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from setpoint.cli.output.table import Cell, render
from setpoint.cli.output.template import TemplateError, compile_template
from setpoint.cli.output.terminal import Terminal, harmless, meaning_of, shortened, terminal, width_of

TEMPLATES = yaml.safe_load((Path(__file__).parent / "templates.yaml").read_text())
CELLS = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=30)
TABLES = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=5)
)


@pytest.mark.parametrize("case", TEMPLATES["prints"], ids=lambda case: case["template"])
def test_a_template_prints(case: dict[str, object]) -> None:
    assert compile_template(str(case["template"]))(TEMPLATES["object"]) == case["prints"]


@pytest.mark.parametrize("case", TEMPLATES["refused"], ids=lambda case: case["template"])
def test_what_is_no_template_is_refused(case: dict[str, str]) -> None:
    with pytest.raises(TemplateError, match=case["says"]):
        compile_template(case["template"])(TEMPLATES["object"])


@given(TABLES)
def test_columns_begin_at_the_same_place_in_every_line(rows: list[list[str]]) -> None:
    headers = [f"H{index}" for index in range(len(rows[0]))]
    lines = render(headers, rows, Terminal())
    assert len(lines) == len(rows) + 1
    begin = 0
    for index, header in enumerate(headers[:-1]):
        begin += max(width_of(header), *(width_of(harmless(row[index])) for row in rows)) + 3
    assert lines[0][begin:] == headers[-1] or width_of(lines[0]) == begin + width_of(headers[-1])


@given(TABLES, st.integers(60, 200))
def test_a_table_is_no_wider_than_the_terminal_unless_its_names_are(rows: list[list[str]], width: int) -> None:
    headers = [f"H{index}" for index in range(len(rows[0]))]
    lines = render(headers, rows, Terminal(width))
    # Even at their narrowest: the first column, and eight columns for each of the others.
    least = max(2, *(width_of(harmless(row[0])) for row in rows)) + (len(headers) - 1) * 11
    assert max(map(width_of, lines)) <= max(width, least)


@given(TABLES)
def test_colours_change_nothing_but_colours(rows: list[list[str]]) -> None:
    headers = ["NAME", *("STATUS" for _ in rows[0][1:])]
    plain = render(headers, rows, Terminal())
    painted = render(headers, rows, Terminal(colours=True))
    codes = ("\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m")
    for code in codes:
        painted = [line.replace(code, "") for line in painted]
    assert [line.rstrip() for line in painted] == plain


def test_states_have_the_colour_of_what_they_mean() -> None:
    lines = render(("NAME", "STATUS"), [["a", "Running"], ["b", "Pending"], ["c", "Failed"]], Terminal(colours=True))
    assert [line.removeprefix(name).strip() for name, line in zip("abc", lines[1:], strict=True)] == [
        "\x1b[32mRunning\x1b[0m",
        "\x1b[33mPending\x1b[0m",
        "\x1b[31mFailed\x1b[0m",
    ]
    assert meaning_of("some-word-of-nobody") == ""


def test_a_name_that_looks_like_a_state_has_no_colour() -> None:
    assert render(("NAME",), [["Running"]], Terminal(colours=True), with_headers=False) == ["Running"]
    assert render(("NAME",), [[Cell("x", "bad")]], Terminal(colours=True), with_headers=False) == ["\x1b[31mx\x1b[0m"]


def test_nothing_in_an_object_reaches_the_terminal_as_a_command() -> None:
    assert harmless("a\x1b[2Jb\x07\x9b") == "a^[[2Jb^G?"
    [line] = render(("N",), [["x\x1b]0;owned\x07\ny"]], Terminal(), with_headers=False)
    assert line == "x^[]0;owned^G y"


@given(st.text(), st.integers(1, 40))
def test_a_shortened_text_fits(text: str, width: int) -> None:
    assert width_of(shortened(text, width)) <= width


def test_wide_characters_count_twice() -> None:
    assert width_of("日本") == 4
    assert width_of("e\u0301") == 1


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environ", "colours"),
    [
        (_Screen(), {"TERM": "xterm"}, True),
        (_Screen(), {"TERM": "dumb"}, False),
        (_Screen(), {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (_Screen(), {"TERM": "xterm", "NO_COLOR": ""}, True),
        (io.StringIO(), {"TERM": "xterm"}, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
        (io.StringIO(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colours_are_there_where_they_are_wanted(stream: io.StringIO, environ: dict[str, str], colours: bool) -> None:
    assert terminal(stream, environ).colours is colours


def test_what_is_no_terminal_has_no_width() -> None:
    assert terminal(io.StringIO(), {}).width is None
