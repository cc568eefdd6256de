"""What is painted over is what was painted, and nothing above it; and no line is wider than the terminal."""

from hypothesis import given
from hypothesis import strategies as st
from tests.cli.view.screen_model import Terminal as Glass

from setpoint.cli.app.view import layout
from setpoint.cli.app.view.layout import Widths
from setpoint.cli.app.view.model import Row
from setpoint.cli.app.view.parts import After, Part, in_order
from setpoint.cli.app.view.question import Question
from setpoint.cli.app.view.screen import Screen
from setpoint.cli.output.terminal import Terminal, width_of

COLUMNS, ROWS = 20, 12
WORDS = st.text(alphabet="ab 日é", max_size=9)
FRAMES = st.lists(st.tuples(st.lists(WORDS, max_size=3), st.lists(WORDS, max_size=5)), max_size=12)
NAMES = st.text(alphabet="abc-日", min_size=1, max_size=30)


@given(FRAMES)
def test_what_was_said_stays_and_what_is_painted_stands_below(frames: list[tuple[list[str], list[str]]]) -> None:
    screen, glass = Screen(COLUMNS), Glass(COLUMNS, ROWS)
    glass.feed("$ setpoint up\r\n")
    said: list[str] = ["$ setpoint up"]
    for lines, bottom in frames:
        glass.feed(screen.frame(lines, bottom).replace("\n", "\r\n"))
        said += lines
        assert glass.text() == "\n".join(line.rstrip() for line in (*said, *bottom)).rstrip("\n") + "\n"


def test_only_what_changed_is_written() -> None:
    screen = Screen(COLUMNS)
    screen.frame(["head"], ["one", "two", "three"])
    assert screen.frame([], ["one", "two", "three"]) == ""
    assert screen.frame([], ["one", "2", "three"]) == "\x1b[2A\r2\x1b[K\x1b[2B\r"
    assert screen.frame([], ["one", "2", "three", "four"]) == "four\n"


@given(st.lists(st.text(alphabet="abc", min_size=1, max_size=19), min_size=1, max_size=4), st.integers(5, 40))
def test_after_a_change_of_width_nothing_is_left_of_what_was_painted(lines: list[str], columns: int) -> None:
    screen, glass = Screen(COLUMNS), Glass(COLUMNS, 40)
    glass.feed(screen.frame(["above"], lines).replace("\n", "\r\n"))
    glass.resize(columns)
    screen.resize(columns)
    new = [line[: columns - 1] for line in lines]
    glass.feed(screen.frame([], new, repaint=True).replace("\n", "\r\n"))
    assert glass.text() == "\n".join(("above", *new)) + "\n"


ROWS_OF_TABLES = st.lists(
    st.builds(
        Row,
        NAMES,
        st.sampled_from(["process", "container", "task"]),
        st.text(alphabet="abc:/日", max_size=50),
        st.sampled_from(["ready", "waiting for database", "failed: exit 1"]),
        st.just("good"),
        st.none() | st.floats(0, 999),
        st.booleans(),
        st.text(alphabet="abc 日", max_size=90),
    ),
    max_size=8,
)


@given(ROWS_OF_TABLES, st.integers(70, 160))
def test_no_line_of_a_table_is_as_wide_as_the_terminal(rows: list[Row], columns: int) -> None:
    place = Terminal(columns)
    lines = layout.table(rows, Widths().grown(rows), place)
    lines += layout.starting_line(rows, 12.0, layout.KEYS, place)
    lines += layout.ready_line(1.5, [row.name for row in rows], layout.KEYS, place)
    lines += layout.question(Question([row.name for row in rows], ()), place)
    lines.append(layout.header("shop", "shop-3f2a", "http://localhost:41873", place))
    assert max(map(width_of, lines), default=0) < columns


@given(ROWS_OF_TABLES, st.integers(8, 69))
def test_in_a_narrow_terminal_columns_are_left_out_and_no_line_breaks(rows: list[Row], columns: int) -> None:
    lines = layout.table(rows, Widths().grown(rows), Terminal(columns))
    lines += layout.starting_line(rows, 12.0, layout.KEYS, Terminal(columns))
    assert max(map(width_of, lines), default=0) < columns


@given(ROWS_OF_TABLES, st.integers(1, 69))
def test_the_narrowest_terminal_still_gets_something(rows: list[Row], columns: int) -> None:
    place, names = Terminal(columns), [row.name for row in rows]
    assert len(layout.table(rows, Widths().grown(rows), place)) == len(rows)
    assert all(layout.below("hint: install it, or start it with another Python", place))
    assert all(layout.question(Question(names, ()), place))
    assert all(layout.ready_line(1.5, names, layout.KEYS, place))


@given(ROWS_OF_TABLES)
def test_elsewhere_than_on_a_terminal_nothing_is_shortened(rows: list[Row]) -> None:
    for row, line in zip(rows, layout.table(rows, Widths().grown(rows), Terminal()), strict=True):
        assert "…" not in line
        assert row.name in line
        assert row.note.rstrip() in line


def test_more_rows_than_the_screen_has_are_counted_and_those_that_need_one_are_shown() -> None:
    rows = [Row(f"part-{number}", "process", "", "ready", "good") for number in range(20)]
    rows[15] = Row("late", "process", "", "starting", "pending")
    shown, more = layout.folded(rows, 5)
    assert [row.name for row in shown] == ["part-0", "part-1", "part-2", "late"]
    assert more == "  … 16 more: 16 ready"
    assert layout.folded(rows, 20) == (rows, "")


def test_of_a_long_path_the_beginning_and_the_end_are_shown() -> None:
    path = [f"part-{number}" for number in range(1, 9)]
    assert layout.ready_line(1.5, path[:3], "", Terminal(80)) == [
        "ready in 1.5s · critical path part-1 → part-2 → part-3"
    ]
    assert layout.ready_line(1.5, path, "", Terminal(80)) == [
        "ready in 1.5s · critical path part-1 → part-2 → part-3 → … → part-7 → part-8"
    ]
    assert layout.ready_line(1.5, path, "", Terminal(40)) == ["ready in 1.5s"]
    assert layout.ready_line(1.5, path, "", Terminal())[0].count("→") == 7


def test_a_question_is_answered_with_as_few_keys_as_it_takes() -> None:
    few, many = [Question([f"part-{number}" for number in range(1, count)], ["all"]) for count in (4, 13)]
    assert few.press("3") == ("part-3",)
    assert Question(few.names, ["all", "others"]).press("a") == ("all", "others")
    assert Question(few.names, ()).press("\x1b") == ()
    assert Question(few.names, ()).press("9") == ()
    assert (many.press("1"), many.press("2"), many.press("\n")) == (None, None, ("part-12",))
    assert Question(many.names, ()).press("\n") == ()


def test_parts_stand_in_the_order_in_which_they_start() -> None:
    given_parts = [
        Part("db"),
        Part("api", after=(After("migrate"),)),
        Part("web", after=(After("api"), After("elsewhere"))),
        Part("migrate", after=(After("db"),)),
        Part("a", after=(After("b"),)),
        Part("b", after=(After("a"),)),
    ]
    assert [part.name for part in in_order(given_parts)] == ["db", "migrate", "api", "web", "a", "b"]
