"""The documentation of the configuration is what its structs say."""

from pathlib import Path

from setpoint.config.document import markdown

PAGE = Path(__file__).parent.parent.parent / "docs" / "configuration.md"


def test_the_page_is_in_step_with_the_structs() -> None:
    assert PAGE.read_text() == markdown(), "write it anew: python -m tools.configuration_page"
