"""Runs `async def` tests that do not ask for a world, too."""

from tests.testing.conftest import pytest_pyfunc_call as pytest_pyfunc_call
