"""The way from a command to a server: which one is meant, and a client of it.

In this order: `--kubeconfig`, `--session`, the session that runs in this directory or above it, `$KUBECONFIG`, the
server that `setpoint serve` started for this user. Who works on an app means the app, whatever cluster their shell is
set to; and `~/.kube/config` is never taken unasked: it may be a cluster in production.
"""

import functools
import gc
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from setpoint.cli.output.terminal import echo
from setpoint.cli.support.crash_cleanup import clear_dead
from setpoint.cli.support.cwd import here
from setpoint.cli.support.errors import NO_SERVER, NOT_FOUND, Failure, explained, in_one_line

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.objects.clock import Clock
    from setpoint.session.registry import Session, Sessions

T = TypeVar("T")
FIELD_MANAGER = "setpoint"
DEFAULT_NAMESPACE = "default"
# A command that takes longer looks for its garbage.
_QUICK_SECONDS = 1.0


class Server(NamedTuple):
    """Which server is meant, as the command line says it."""

    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""
    session: str = ""
    # The revision as of which everything is read; empty for now.
    at: str = ""
    # When that was; RFC 3339.
    then: str = ""

    def over(self, other: "Server") -> "Server":
        """This, and where it says nothing, the other."""
        return Server(*(mine or theirs for mine, theirs in zip(self, other, strict=True)))


class Found(NamedTuple):
    """Where a server is. `by` says how it was found, for people."""

    paths: tuple[Path, ...]
    by: str
    session: "Session | None" = None
    # Whether somebody named a kubeconfig: it may be any cluster.
    is_given: bool = False


def server_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the options that say which server, as its argument `server`. They may stand before it too."""

    @click.option("--kubeconfig", metavar="FILE", default="", help="The kubeconfig of the server.")
    @click.option("--context", metavar="NAME", default="", help="The context of the kubeconfig.")
    @click.option("-n", "--namespace", metavar="NAME", default="", help="The namespace.")
    @click.option("--session", metavar="APP", default="", help="A session by its app or id, wherever it runs.")
    @functools.wraps(command)
    def inner(*args: Any, kubeconfig: str, context: str, namespace: str, session: str, **rest: Any) -> Any:
        given = Server(kubeconfig, context, namespace, session)
        outer = click.get_current_context().find_object(Server)
        return command(*args, server=given.over(outer) if outer is not None else given, **rest)

    return inner


def find(
    server: Server, environ: Mapping[str, str] = os.environ, directory: Path | None = None, *, clearing: bool = True
) -> Found:
    """Where the server is that is meant. Sessions that have ended unexpectedly are cleared up after on the way. Raises
    Failure."""
    from setpoint.session.registry import Sessions, state_directory

    if clearing:
        clear_dead(environ)
    if server.kubeconfig:
        return Found((Path(server.kubeconfig),), "--kubeconfig", is_given=True)
    sessions = Sessions.of(environ)
    if server.session:
        return _of_session(_one(sessions.named(server.session), f"session {server.session}", sessions))
    if found := sessions.here(directory or here()):
        return _of_session(_one(found, "session of this directory", sessions))
    if listed := [Path(each) for each in environ.get("KUBECONFIG", "").split(os.pathsep) if each]:
        if not any(path.exists() for path in listed):
            raise Failure(f"KUBECONFIG names {' and '.join(map(str, listed))}, which is not there", NO_SERVER)
        return Found(tuple(path for path in listed if path.exists()), "$KUBECONFIG", is_given=True)
    served = state_directory(environ) / "kubeconfig"
    if served.exists():
        return Found((served,), str(served))
    raise Failure(_nothing_runs(sessions), NO_SERVER)


def _of_session(session: "Session") -> Found:
    return Found((Path(session.kubeconfig),), f"session {session.id}", session)


def _one(found: "list[Session]", what: str, sessions: Any) -> "Session":
    if len(found) == 1:
        return found[0]
    names = ", ".join(session.id for session in found or sessions.alive())
    if found:
        raise Failure(f"there is more than one {what}: choose with --session: {names}", NOT_FOUND)
    raise Failure(f"there is no {what}; " + (f"there are: {names}" if names else "nothing runs"), NOT_FOUND)


def elsewhere(sessions: "Sessions") -> str:
    """A sentence about what runs in other directories, if something does."""
    found = [f"{session.app} in {session.directory}" for session in sessions.alive()]
    return f" Elsewhere there is {', '.join(found)}: choose it with --session." if found else ""


def _nothing_runs(sessions: "Sessions") -> str:
    return (
        f"nothing runs here.{elsewhere(sessions)} Start an app with `setpoint up`, a bare server with "
        "`setpoint serve`, or name a server with --kubeconfig FILE (such as ~/.kube/config)"
    )


@asynccontextmanager
async def connect(server: Server, *, quiet: bool = False) -> "AsyncIterator[Client]":
    """A client of the server that is meant. What is written counts as written by the command line. Errors of the API
    and of the way to it become failures. Namespaced kinds are looked for where the context says, or in `default`."""
    from setpoint.client.client import Client
    from setpoint.client.kubeconfig import load
    from setpoint.client.options import Options
    from setpoint.objects.clock import SystemClock

    found = find(server)
    clock = SystemClock()
    with explained(found.by):
        connection = load(found.paths).connection(server.context, os.environ, clock)
        options = Options(
            namespace=server.namespace or connection.namespace or DEFAULT_NAMESPACE,
            field_manager=FIELD_MANAGER,
            impersonate=connection.impersonate,
        )
        warn = _silent if quiet else _warn
        told = _standing(server.then or (found.session.exported if found.session is not None else "")) or clock
        client = Client(connection.transport(), clock=told, options=options, on_warning=warn)
        client.namespace = options.namespace
        async with client:
            yield _at(client, int(server.at)) if server.at else client


def _standing(then: str) -> "Clock | None":
    """A clock for what is told as of a moment: one in the past, or that of an archive that was opened."""
    if not then:
        return None
    from setpoint.objects.clock import StandingClock
    from setpoint.objects.times import parse_micro_time

    return StandingClock(parse_micro_time(then))


def _at(client: "Client", revision: int) -> "Client":
    from setpoint.past.as_of import as_of

    return as_of(client, revision)


def _warn(text: str) -> None:
    echo(f"Warning: {text}", err=True)


def _silent(text: str) -> None:
    return


def run(main: Coroutine[Any, Any, T]) -> T:
    """Runs a command to its end, as `in_one_line` says."""
    import asyncio  # most of what --help would have to wait for

    async def lasting() -> T:
        if not gc.isenabled():  # as it is left by `start`
            asyncio.get_running_loop().call_later(_QUICK_SECONDS, gc.enable)
        return await main

    with in_one_line():
        return asyncio.run(lasting())
