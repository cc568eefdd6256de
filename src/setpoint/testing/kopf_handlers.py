"""The handlers of a kopf operator: from a file, a module or a registry, in a registry for one run.

kopf collects the handlers of all imported modules in one global registry. A run gets only those of its own operator,
so that operators of other tests do not take part. kopf's fallback logins are replaced by the connection to the test's
server; logins of the operator itself run, but must lead to that server.
"""

import dataclasses
import functools
import importlib
import importlib.util
import inspect
import itertools
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from setpoint.testing.client_libraries import MissingLibraryError

try:
    import kopf
except ModuleNotFoundError as error:
    if error.name != "kopf":
        raise
    raise MissingLibraryError("setpoint.testing.kopf runs operators of kopf: pip install kopf", name="kopf") from None

Source = str | Path | ModuleType | kopf.OperatorRegistry
# The parts of a registry, each with the handlers of one family.
_PARTS = ("_activities", "_indexing", "_watching", "_spawning", "_changing", "_webhooks")
_numbers = itertools.count(1)


class NoHandlersError(ValueError):
    """An operator registers no handlers."""


def collect_handlers(sources: Iterable[Source], connection: kopf.ConnectionInfo) -> kopf.OperatorRegistry:
    """Returns a registry with the handlers of these sources, which logs in with this connection. Raises
    NoHandlersError, and the errors of the imported files and modules."""
    made = kopf.OperatorRegistry()
    logins = 0
    for source in sources:
        found = 0
        for part, handler in _handlers(source):
            if getattr(handler, "_fallback", False):
                continue
            found += 1
            if part == "_activities" and handler.activity.name == "AUTHENTICATION":
                logins += 1
                handler = dataclasses.replace(handler, fn=_checked(handler.fn, connection.server))
            getattr(made, part).append(handler)
        if not found:
            raise NoHandlersError(
                f"{_name(source)} registers no handlers of kopf: give the file or the module with the decorators"
            )
    if not logins:
        kopf.on.login(registry=made, id="setpoint")(_login(connection))
    return made


def _handlers(source: Source) -> Iterator[tuple[str, Any]]:
    """Returns the parts of a registry and their handlers."""
    if isinstance(source, kopf.OperatorRegistry):
        return _all_handlers(source)
    if isinstance(source, Path) or (isinstance(source, str) and source.endswith(".py")):
        return _all_handlers(_run_file(Path(source)))
    if isinstance(source, str):
        source = importlib.import_module(source)
    name = source.__name__
    return (
        (part, handler)
        for part, handler in _all_handlers(kopf.get_default_registry())
        if f"{_module(handler.fn)}.".startswith(f"{name}.")
    )


def _all_handlers(registry: kopf.OperatorRegistry) -> Iterator[tuple[str, Any]]:
    for part in _PARTS:
        for handler in getattr(registry, part).get_all_handlers():
            yield part, handler


def _run_file(path: Path) -> kopf.OperatorRegistry:
    """Runs a file anew, as `kopf run` does, and returns the handlers that the file registers."""
    # kopf names the handlers by their functions, so the name of the module is free.
    name = f"_kopf_operator_{next(_numbers)}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise FileNotFoundError(f"cannot load the operator {path}: there is no such Python file")
    module = importlib.util.module_from_spec(spec)
    made = kopf.OperatorRegistry()
    sys.modules[name] = module
    with _default_registry(made), _import_path(path.resolve().parent):
        spec.loader.exec_module(module)
    return made


@contextmanager
def _default_registry(registry: kopf.OperatorRegistry) -> Iterator[None]:
    before = kopf.get_default_registry()
    kopf.set_default_registry(registry)
    try:
        yield
    finally:
        kopf.set_default_registry(before)


@contextmanager
def _import_path(directory: Path) -> Iterator[None]:
    sys.path.insert(0, str(directory))
    try:
        yield
    finally:
        sys.path.remove(str(directory))


def _login(connection: kopf.ConnectionInfo) -> Callable[..., Coroutine[Any, Any, kopf.ConnectionInfo]]:
    async def login(**_: Any) -> kopf.ConnectionInfo:
        return connection

    return login


def _checked(login: Callable[..., Any], server: str) -> Callable[..., Any]:
    """Returns a login that fails if the given one leads to another server."""

    def check(found: Any) -> Any:
        if found is not None and getattr(found, "server", server).rstrip("/") != server:
            raise kopf.PermanentError(
                f"the login {login.__name__} leads to {found.server} instead of the test's server {server}: "
                "read KUBECONFIG in this login, or register no login in tests"
            )
        return found

    if inspect.iscoroutinefunction(login):

        @functools.wraps(login)
        async def checked(**arguments: Any) -> Any:
            return check(await login(**arguments))

        return checked

    @functools.wraps(login)
    def checked_in_thread(**arguments: Any) -> Any:
        return check(login(**arguments))

    return checked_in_thread


def _module(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__module__", None) or ""


def _name(source: Source) -> str:
    if isinstance(source, kopf.OperatorRegistry):
        return "the registry"
    return source.__name__ if isinstance(source, ModuleType) else str(source)
