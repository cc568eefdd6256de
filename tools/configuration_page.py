"""Writes the page about the configuration anew."""

from pathlib import Path

from setpoint.config.document import markdown

PAGE = Path(__file__).parent.parent / "docs" / "configuration.md"

if __name__ == "__main__":
    PAGE.write_text(markdown())
