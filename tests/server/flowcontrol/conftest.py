"""Runs `async def` tests."""

from tests.store.conftest import pytest_pyfunc_call as pytest_pyfunc_call
