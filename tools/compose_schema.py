"""Writes the JSON schema of Compose files to `setpoint/app/compose/compose-spec.json`, without its descriptions.

The source is `schema/compose-spec.json` of the Go module compose-go, in the version of `tests/app/compose/go/go.mod`.
Run `make data`, or `python -m tools.compose_schema`; this needs Go to fetch the module, and runs no code of it.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parent.parent
TARGET = _ROOT / "src/setpoint/app/compose/compose-spec.json"
_MODULE = "github.com/compose-spec/compose-go/v2"


def _without_texts(value: Any) -> Any:
    """Removes descriptions and titles; a property with one of these names has a schema as its value."""
    if isinstance(value, dict):
        return {
            name: _without_texts(inner)
            for name, inner in value.items()
            if not (name in ("description", "title") and isinstance(inner, str))
        }
    return [_without_texts(inner) for inner in value] if isinstance(value, list) else value


def main() -> None:
    """Writes the file."""
    command = ["go", "mod", "download", "-json", _MODULE]
    answer = subprocess.run(
        command, cwd=_ROOT / "tests/app/compose/go", check=True, capture_output=True, text=True
    ).stdout
    source = Path(json.loads(answer)["Dir"]) / "schema/compose-spec.json"
    tree = _without_texts(json.loads(source.read_text()))
    TARGET.write_text(json.dumps(tree, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
