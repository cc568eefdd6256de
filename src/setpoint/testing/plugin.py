"""The pytest plugin: the fixture `world` for `async def` tests, which run inside the world.

    @pytest.mark.world(crds=[Widget])
    async def test_a_widget_has_a_child(world: testing.World) -> None: ...

The mark takes the arguments of `testing.world`. Tests without a world are left to other plugins.
"""

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from setpoint.testing.worlds import World

_MARK = "world(**settings): the world of this test, with the arguments of setpoint.testing.world"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARK)


@pytest.fixture
def world(request: pytest.FixtureRequest) -> "World":
    """Provides a world for one `async def` test: a server, virtual time and faults. Starts with the test."""
    if not inspect.iscoroutinefunction(request.function):
        pytest.fail("the fixture world requires an `async def` test; in others use `setpoint.testing.world()` directly")
    return _Later()  # type: ignore[return-value]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs the tests that use a world, each inside its own."""
    wanted = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    if not any(isinstance(value, _Later) for value in wanted.values()):
        return None
    settings: dict[str, Any] = {}
    for mark in reversed(list(pyfuncitem.iter_markers("world"))):
        settings.update(mark.kwargs)
    asyncio.run(_run(pyfuncitem.obj, wanted, settings))
    return True


async def _run(test: Any, wanted: dict[str, Any], settings: dict[str, Any]) -> None:
    from setpoint.testing.worlds import world as made

    async with made(**settings) as found:
        await test(**{name: found if isinstance(value, _Later) else value for name, value in wanted.items()})


class _Later:
    """A placeholder for a world that starts with its test."""
