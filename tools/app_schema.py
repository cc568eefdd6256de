"""Writes the JSON schema of app files anew."""

from pathlib import Path

from setpoint.app.schema import schema_text

FILE = Path(__file__).parent.parent / "docs" / "setpoint.schema.json"

if __name__ == "__main__":
    FILE.write_text(schema_text())
