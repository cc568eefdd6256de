"""Has the rules of every schema run as those of a kind with many objects do; the walk of the others is part of that."""

from collections.abc import Iterator

import pytest

from setpoint.schema.cel import rules


@pytest.fixture(autouse=True, scope="package")
def _many_objects() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules, "FEW", 0)
        yield
