"""Runs the `async def` tests that do not ask for a world, too."""

import pytest
from tests.store.conftest import pytest_pyfunc_call as run


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    return run(pyfuncitem)
