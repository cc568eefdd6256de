"""Writes the list of fields in the page about the app file anew."""

from pathlib import Path

from setpoint.app.document import HEADING, fields_markdown

PAGE = Path(__file__).parent.parent / "docs" / "app-file.md"

if __name__ == "__main__":
    head, _, _ = PAGE.read_text().partition(HEADING)
    PAGE.write_text(head + fields_markdown())
