"""Makes the tables of rules that are shipped from those that people write: `python -m tools.rule_tables`.

YAML is pleasant to write, and takes longer to read than a whole command may: what is shipped is JSON.
"""

from pathlib import Path

import msgspec

from setpoint.flow.summary import summary_rules
from setpoint.objects import yamltext
from setpoint.past.why import hints

TABLES = (Path(summary_rules.__file__).with_name("rules.yaml"), Path(hints.__file__).with_name("hints.yaml"))


def contents(table: Path) -> bytes:
    """A table as JSON."""
    return msgspec.json.encode(yamltext.load(table.read_bytes()).tree)


def main() -> None:
    for table in TABLES:
        table.with_suffix(".json").write_bytes(contents(table))


if __name__ == "__main__":
    main()
