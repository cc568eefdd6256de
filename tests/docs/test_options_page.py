"""The page of options is current, and describes every option."""

import pytest
from tools.options_page import PAGE, SECTIONS, Section, markdown, options_of


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == markdown(), "run: python -m tools.options_page"


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.title)
def test_every_option_has_a_description(section: Section) -> None:
    found = options_of(section)
    assert found
    assert [option.name for option in found if not option.text.endswith((".", "`."))] == []
    assert len({option.name for option in found}) == len(found)


def test_a_section_without_code_is_an_error() -> None:
    with pytest.raises(LookupError, match="has no Nothing"):
        options_of(Section("Nothing", "", "controller/options.py", "Nothing"))
