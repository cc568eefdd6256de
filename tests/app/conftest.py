"""Runs `async def` tests, and gives the others one control plane that serves the workload kinds."""

from tests.store.conftest import pytest_pyfunc_call as pytest_pyfunc_call
from tests.workload.kinds.conftest import served as served
