"""Every feature and every defect of the table is shown by a test or an example, and the page says by which."""

import re
from pathlib import Path

from tools.coverage_page import PAGE, ROOT, markdown, marks, shown, table

TABLE = table()


def test_every_row_is_shown_by_something_or_on_the_list_of_those_that_are_not_yet() -> None:
    there = shown()
    missing = [row for row in TABLE.rows() if not there.get(row)]
    assert missing == TABLE.not_yet, (
        "the list not_yet in tests/docs/features.yaml names exactly the rows without anything"
    )


def test_every_mark_and_every_example_names_a_row_of_the_table() -> None:
    unknown = shown().keys() - set(TABLE.rows())
    assert not unknown, "marks and examples of rows that tests/docs/features.yaml does not have"
    assert [path for paths in TABLE.examples.values() for path in paths if not (ROOT / path).is_file()] == []


def test_the_table_has_91_features_and_38_defects_in_order() -> None:
    assert TABLE.rows() == [f"E{number}" for number in range(1, 92)] + [f"G{number}" for number in range(1, 39)]


def test_the_page_is_in_step_with_the_marks() -> None:
    assert PAGE.read_text() == markdown(), "write it anew: python -m tools.coverage_page"


def test_marks_of_tests_and_of_modules_are_read(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_some.py").write_text(
        'pytestmark = [pytest.mark.feature("E1"), pytest.mark.timeout(3)]\n'
        '@pytest.mark.feature("E2", "G3")\n@pytest.mark.parametrize("a", [1])\ndef test_one(): ...\n'
        "async def test_two(): ...\ndef neither(): ...\n"
    )
    (tests / "other.py").write_text('@pytest.mark.feature("E9")\ndef test_three(): ...\n')
    found = {row: [one.name for one in tests] for row, tests in marks(tests).items()}
    assert found == {"E2": ["test_one"], "G3": ["test_one"], "E1": ["test_one", "test_two"]}


def test_the_page_does_not_name_lines() -> None:
    assert not re.search(r"\.py[#:]", PAGE.read_text())
