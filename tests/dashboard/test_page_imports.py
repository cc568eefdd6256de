"""The modules of the page import only each other: a missing file is otherwise found in a browser only."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "src" / "setpoint" / "dashboard" / "page"
IMPORT = re.compile(r"(?<![\"'])\b(?:from|import)\s*\(?\"([^\"\s]+)\"")


def test_every_import_names_a_file_of_the_page() -> None:
    for path in PAGE.rglob("*.js"):
        for imported in IMPORT.findall(path.read_text()):
            assert imported.startswith("."), f"{path.name} imports {imported} of another host"
            assert (path.parent / imported).resolve().is_file(), f"{path.name} imports {imported}"
