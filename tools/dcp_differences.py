"""Writes the table of differences between DCP and setpoint-dcp in docs/dcp.md, from the scenarios of tests/dcp:
`python -m tools.dcp_differences`."""

import json
from pathlib import Path
from typing import Any

import yaml

_ROOT = Path(__file__).parent.parent
_SUITE = _ROOT / "tests" / "dcp"
PAGE = _ROOT / "docs" / "dcp.md"
_BEGIN, _END = "<!-- begin differences -->\n", "<!-- end differences -->\n"


def differences() -> list[dict[str, Any]]:
    """Returns the differences with their reasons."""
    found: list[dict[str, Any]] = yaml.safe_load((_SUITE / "differences.yaml").read_text())
    return found


def table() -> str:
    """Returns the text between the marks of the page."""
    rows = differences()
    plain, containers = (
        len(json.loads((_SUITE / name).read_text())) for name in ("recorded.json", "recorded_containers.json")
    )
    count = plain + containers
    different = sum(len(row["scenarios"]) for row in rows)
    lines = [
        f"{count} scenarios over all kinds, {containers} of them with Podman, were recorded with DCP",
        "(commit d680c176), and are replayed with `setpoint-dcp`:",
        f"{count - different} answers are the same, {different} differ:",
        "",
        "| difference | reason |",
        "|---|---|",
        *(f"| {row['what']} | {row['why']} |" for row in rows),
    ]
    return "\n".join(lines) + "\n"


def with_table(text: str) -> str:
    """Returns the page with the current table."""
    before, _, rest = text.partition(_BEGIN)
    return f"{before}{_BEGIN}{table()}{_END}{rest.partition(_END)[2]}"


def main() -> None:
    PAGE.write_text(with_table(PAGE.read_text()))


if __name__ == "__main__":
    main()
