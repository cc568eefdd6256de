"""The pytest plugin: the fixture `world` for `async def` tests, which run in it.

    @pytest.mark.world(crds=[Widget])
    async def test_a_widget_has_a_child(world: testing.World) -> None: ...

The mark has the arguments of `testing.world`. Tests that do not ask for a world are left to others.
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
    """A world of the test's own: a server, virtual time and faults. It begins with the test, which is `async def`."""
    if not inspect.iscoroutinefunction(request.function):
        pytest.fail("the fixture world is for `async def` tests; in others use `setpoint.testing.world()` itself")
    return _Later()  # type: ignore[return-value]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs the tests that ask for a world, each in one."""
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
    """Stands for a world that begins with its test."""
