"""One control plane that serves the workload kinds, for all tests of this folder: nothing in them depends on others."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, NamedTuple

import pytest

import setpoint as sp
from setpoint.workload.kinds.definitions import install


class Plane(NamedTuple):
    """A plane, a client of it, and a way to wait for what the client does."""

    plane: sp.ControlPlane
    client: sp.Client
    run: Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture(scope="package")
def served() -> Iterator[Plane]:
    with asyncio.Runner() as runner:
        plane = runner.run(sp.ControlPlane(system=False).__aenter__())
        client = plane.client()
        runner.run(client.__aenter__())
        runner.run(install(client))
        yield Plane(plane, client, runner.run)
        runner.run(client.__aexit__(None, None, None))
        runner.run(plane.__aexit__(None, None, None))
