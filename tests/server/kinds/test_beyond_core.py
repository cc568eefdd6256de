"""The rules of the kinds beyond the core group: what is right is taken, what is wrong is refused in these words."""

from typing import Any

import pytest
from tests.server.kinds.judged import TABLES, Case, created, errors_of, errors_of_update

from setpoint.objects.tree import Object, copy

OBJECTS = [
    pytest.param(body, id=f"{table}-{name}") for table, found in TABLES.items() for name, body in found.objects.items()
]
REFUSED = [pytest.param(case, id=f"{table}-{case.name}") for table, found in TABLES.items() for case in found.cases]


@pytest.mark.parametrize("body", OBJECTS)
def test_an_object_that_is_right_is_taken(body: Object) -> None:
    assert errors_of(body) == []


@pytest.mark.parametrize("body", OBJECTS)
def test_an_object_that_is_sent_again_is_taken(body: Object) -> None:
    stored = created(body)
    assert errors_of_update(copy(stored), stored) == []


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_refused(case: Case) -> None:
    found: Any = errors_of(case.body) if case.old is None else errors_of_update(case.body, case.old, case.subresource)
    assert found == sorted(case.errors)
