"""The guarantees in docs/security.md name tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "security.md"


def test_every_guarantee_names_a_test_that_exists() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if re.match(r"\| .*\| `tests/", line)]
    assert len(rows) > 20
    for row in rows:
        [(file, name)] = re.findall(r"`(tests/[^`:]+)::(\w+)`", row)
        assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text(), re.MULTILINE), row
