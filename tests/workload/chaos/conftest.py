"""Runs `async def` tests, and gives them Podman."""

from tests.store.conftest import pytest_pyfunc_call as pytest_pyfunc_call
from tests.workload.engine.conftest import podman as podman
