"""Records the answers of compose-go for all cases: `python -m tests.app.compose.record`. This needs Go."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.app.compose.case_files import Case, cases

_PROGRAM = Path(__file__).parent / "go"


def answers(asked: list[Case]) -> list[dict[str, Any]]:
    """Returns the answers of compose-go, with the path `/case/NAME` for the directory of a case."""
    lines = "".join(json.dumps(case.request()) + "\n" for case in asked)
    command = ["go", "run", "."]
    done = subprocess.run(command, cwd=_PROGRAM, input=lines, check=True, capture_output=True, text=True)
    texts = done.stdout.splitlines()
    made = [json.loads(text.replace(str(case.place.parent), "/case")) for case, text in zip(asked, texts, strict=True)]
    for found in made:
        # Compose reads mappings in random order, so its warnings have no order either.
        if "warnings" in found:
            found["warnings"] = sorted(set(found["warnings"]))
    return made


def main() -> None:
    """Writes the answers."""
    asked = [*cases("valid"), *cases("invalid")]
    for case, found in zip(asked, answers(asked), strict=True):
        is_valid = case.place.parent.name == "valid"
        if is_valid == ("error" in found):
            sys.stderr.write(f"{case.place.parent.name}/{case.name}: compose-go says {found.get('error', 'valid')}\n")
        (case.place / "expected.json").write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
