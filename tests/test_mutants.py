"""The mutation tool changes the intended places, and each change can be named and applied."""

import ast
import tomllib

from tools.mutants import mutants
from tools.mutation import EQUIVALENTS, SOURCE

MODULE = b'''"""Docstring with 1 and True."""
LIMIT = 5

def check(value: int = 1) -> bool:
    """Returns 2."""
    _log.info("seen %d", 3)
    if value < LIMIT and not value == 7:
        self.seen = f"{value + 9}"
        return True
    raise ValueError("\xc3\xa9", 1)
'''


def test_every_kind_of_change_is_found_once_and_annotations_texts_and_logs_are_left_alone() -> None:
    found = [each.id.removeprefix("m.py ") for each in mutants("m.py", MODULE)]
    assert found == [
        "(module): 5 => 6",
        "check: 1 => 2",
        "check: value < LIMIT => (value <= LIMIT)",
        "check: value < LIMIT and not value == 7 => (not (value < LIMIT and (not value == 7)))",
        "check: value < LIMIT and not value == 7 => (value < LIMIT or not value == 7)",
        "check: not value == 7 => (value == 7)",
        "check: value == 7 => (value != 7)",
        "check: 7 => 8",
        'check: self.seen = f"{value + 9}" => pass',
        "check: True => False",
        'check: raise ValueError("é", 1) => pass',
        "check: 1 => 2 #2",
    ]


def test_a_change_leaves_the_rest_of_the_source_as_it_is() -> None:
    for mutant in mutants("m.py", MODULE):
        changed = mutant.apply(MODULE)
        ast.parse(changed)
        assert changed[: mutant.start] == MODULE[: mutant.start]
        assert changed.endswith(MODULE[mutant.end :])
        assert changed != MODULE


def test_every_equivalent_mutant_exists_and_has_a_reason() -> None:
    for each in tomllib.loads(EQUIVALENTS.read_text()).get("equivalent", []):
        path = each["mutant"].partition(" ")[0]
        assert each["mutant"] in {mutant.id for mutant in mutants(path, (SOURCE / path).read_bytes())}
        assert each["reason"].endswith(".")
