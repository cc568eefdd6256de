"""The pytest plugin: the fixture `world` for `async def` tests, which run inside the world.

    @pytest.mark.world(crds=[Widget])
    async def test_a_widget_has_a_child(world: testing.World) -> None: ...

The mark takes the arguments of `testing.world`. Tests without a world are left to other plugins.

The fixtures `setpoint_server` and `kopf_operator` are for all tests, with any client: a server of the test's own, and
kopf operators on that server.

The report of a failed test has a section about its world or server: problems, reconciles, the latest revisions of the
objects concerned, and the command that opens the saved archive.
"""

import asyncio
import inspect
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from contextvars import Token
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from setpoint.testing.failure_recorder import TITLE, FailureRecorder
from setpoint.testing.world_observer import WorldObserver, observer

if TYPE_CHECKING:
    from setpoint.testing.kopf import KopfOperator
    from setpoint.testing.local_server import LocalServer
    from setpoint.testing.worlds import World

_MARK = "world(**settings): the world of this test, with the arguments of setpoint.testing.world"
_SERVER_MARK = (
    "setpoint_server(**settings): the server of this test, with the arguments of setpoint.testing.LocalServer"
)


_recorder_key = pytest.StashKey[FailureRecorder]()
_token_key = pytest.StashKey[Token[WorldObserver | None]]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARK)
    config.addinivalue_line("markers", _SERVER_MARK)
    recorder = config.stash[_recorder_key] = FailureRecorder(partial(_archive_directory, config))
    config.stash[_token_key] = observer.set(recorder)


def _archive_directory(config: pytest.Config) -> Path | None:
    """Creates a directory below pytest's temporary directory; None without pytest's own plugin for such directories,
    which has no other interface outside of fixtures."""
    temporary: pytest.TempPathFactory | None = getattr(config, "_tmp_path_factory", None)
    return None if temporary is None else temporary.mktemp("setpoint")


def pytest_unconfigure(config: pytest.Config) -> None:
    token = config.stash.get(_token_key, None)
    if token is not None:
        observer.reset(token)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.config.stash[_recorder_key].begin()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    outcome = yield
    report: pytest.TestReport = outcome.get_result()
    if report.failed and call.excinfo is not None:
        text = item.config.stash[_recorder_key].section(item.name, str(call.excinfo.value))
        if text:
            report.sections.append((TITLE, text))


@pytest.fixture
def setpoint_server(request: pytest.FixtureRequest) -> "Iterator[LocalServer]":
    """Provides a server of the test's own, over TLS at a loopback address, with a kubeconfig and clients."""
    from setpoint.testing.local_server import LocalServer

    with LocalServer(**_settings(request.node, "setpoint_server")) as server:
        yield server


@pytest.fixture
def kopf_operator(setpoint_server: "LocalServer") -> "Iterator[Callable[..., KopfOperator]]":
    """Provides a function that runs a kopf operator on the test's server until the end of the test. The function has
    the arguments of `setpoint.testing.kopf.kopf_operator`."""
    from setpoint.testing.kopf import kopf_operator as made

    with ExitStack() as stack:

        def start(*sources: Any, **options: Any) -> "KopfOperator":
            return stack.enter_context(made(*sources, server=setpoint_server, **options))

        yield start


def _settings(item: Any, mark_name: str) -> dict[str, Any]:
    """Returns the arguments of all marks of this name; those of inner marks have precedence."""
    settings: dict[str, Any] = {}
    for mark in reversed(list(item.iter_markers(mark_name))):
        settings.update(mark.kwargs)
    return settings


@pytest.fixture
def world(request: pytest.FixtureRequest) -> "World":
    """Provides a world for one `async def` test: a server, virtual time and faults. Starts with the test."""
    if not inspect.iscoroutinefunction(request.function):
        pytest.fail("the fixture world requires an `async def` test; in others use `setpoint.testing.world()` directly")
    return _Later()  # type: ignore[return-value]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs the tests that use a world, each inside its own."""
    __tracebackhide__ = True
    wanted = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    if not any(isinstance(value, _Later) for value in wanted.values()):
        return None
    asyncio.run(_run(pyfuncitem.obj, wanted, _settings(pyfuncitem, "world")))
    return True


async def _run(test: Any, wanted: dict[str, Any], settings: dict[str, Any]) -> None:
    from setpoint.testing.worlds import world as made

    __tracebackhide__ = True
    async with made(**settings) as found:
        await test(**{name: found if isinstance(value, _Later) else value for name, value in wanted.items()})


class _Later:
    """A placeholder for a world that starts with its test."""
