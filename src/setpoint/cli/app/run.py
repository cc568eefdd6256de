"""`setpoint run`: runs a task of the app now and exits with its exit code.

If the app is running, the task runs in its session. Otherwise a temporary session runs the task and its dependencies,
and no other part of the app.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import click

from setpoint.cli.app.one_off_options import OneOffOptions, one_off_options
from setpoint.cli.app.source_options import given_files, source_options
from setpoint.cli.output.terminal import echo
from setpoint.cli.support.completion import task_names, workload_names
from setpoint.cli.support.connection import FIELD_MANAGER, Server, connect, find, server_options
from setpoint.cli.support.connection import run as run_command
from setpoint.cli.support.errors import CONFLICT, FAILED, NOT_FOUND, USAGE, Failure
from setpoint.cli.support.processes import require_processes
from setpoint.workload.judgement import is_workload

if TYPE_CHECKING:
    from pathlib import Path

    from setpoint.app.loader import LoadedApp
    from setpoint.client.client import Client
    from setpoint.objects.tree import Object

_LOOK_SECONDS = 0.05
# The base of the exit codes of processes killed by a signal, as in shells.
_SIGNALLED = 128
# The time limit for an interrupted run to end, in addition to the stop timeout of its task.
_ENDING_SECONDS = 30.0
# The time limit for a requested run to begin.
_BEGINNING_SECONDS = 0.5
# After this time, the command prints the dependency that a run waits for.
_PATIENCE_SECONDS = 1.0
# The kinds that a temporary session gets in addition to the needed workloads.
_GROUNDWORK = frozenset(("Secret", "CustomResourceDefinition"))


class _Wanted(NamedTuple):
    task: str
    arguments: tuple[str, ...]


class _RunCommand(click.Command):
    """A command that leaves the options after the first word to the command of a service."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if any(each == "--service" or each.startswith("--service=") for each in args):
            ctx.allow_interspersed_args = False
        return super().parse_args(ctx, args)


@click.command(name="run", cls=_RunCommand)
@click.argument("words", nargs=-1, metavar="TASK [-- ARGUMENT...]", shell_complete=task_names)
@source_options
@click.option(
    "-p", "--profile", "profiles", multiple=True, metavar="NAME", help="Enable a profile of that app (repeatable)."
)
@click.option(
    "--service",
    default="",
    metavar="NAME",
    shell_complete=workload_names,
    help="Run a command with the settings of a service, instead of a task.",
)
@one_off_options
@server_options
def run(
    words: tuple[str, ...],
    profiles: tuple[str, ...],
    service: str,
    one_off: OneOffOptions,
    server: Server,
) -> None:
    """Run a task of the app now, print its output, and exit with its exit code.

    Tasks that the task depends on run first, unless they have succeeded. If the app is not running, only the
    dependencies of the task are started, and they are stopped afterwards. Ctrl-C stops the run. Arguments after -- are
    appended to the task's command.

    With --service, runs a command with the environment, directory, image, volumes and networks of a service, beside the
    service, under a name of its own (api-run-x1y2z). Without a command, the service's own command runs. The ports of
    the service are not published, unless --service-ports is given.

    \b
      setpoint run migrate
      setpoint run test -- -k login
      setpoint run --service api python manage.py shell
    """
    if service:
        sys.exit(run_command(ended_by_signals(_run_service(service, one_off, words, profiles, server))))
    if not words:
        raise Failure("specify a TASK, or --service NAME", USAGE)
    if one_off.is_given:
        raise Failure(f"{one_off.is_given} requires --service NAME", USAGE)
    sys.exit(run_command(ended_by_signals(_run(_Wanted(words[0], words[1:]), profiles, server))))


async def _run_service(
    name: str, how: OneOffOptions, words: tuple[str, ...], profiles: tuple[str, ...], server: Server
) -> int:
    """Runs a one-off of a service and returns its exit code."""
    found: Object | None
    from setpoint.cli.app.app_file import find_file, read_file
    from setpoint.cli.app.chosen_parts import refuse_unknown
    from setpoint.cli.app.one_off import run_one_off
    from setpoint.cli.app.one_off_options import service_object
    from setpoint.session.selection import part_of

    options = how.one_off(words)
    if not given_files() and not _has_no_server(server):
        async with connect(server) as client:
            try:
                found = await service_object(client, name)
            except Failure as unknown:
                found = await _added_service(client, server, name, profiles, dependencies=options.dependencies)
                if found is None:
                    raise unknown from None
            return await run_one_off(_named(client), found, options, keeps=how.keeps)
    path = find_file("")
    loaded = read_file(path, os.environ, profiles, names=[name])
    refuse_unknown(name, list(loaded.app.services), "service", loaded.app.app)
    tree = next(tree for tree in loaded.objects if part_of(tree) == name)
    objects = needed_objects(loaded, name, without=True, dependencies=options.dependencies)
    async with _session(path, loaded, objects) as client:
        return await run_one_off(_named(client), tree, options)


async def _added_service(
    client: "Client", server: Server, name: str, profiles: tuple[str, ...], *, dependencies: bool
) -> "Object | None":
    """Returns the object of a service that the file of the running app has and the session lacks, or None. Adds the
    dependencies of the service to the session."""
    from pathlib import Path

    from setpoint.cli.app.app_file import read_file
    from setpoint.cli.support.errors import explained
    from setpoint.session.app_apply import apply_app
    from setpoint.session.paths import Places
    from setpoint.session.selection import part_of

    session = find(server).session
    if session is None or not session.file or not Path(session.file).is_file():
        return None
    loaded = read_file(Path(session.file), os.environ, profiles, names=[name])
    if name not in loaded.app.services or loaded.app.app != session.app:
        return None
    if needed := needed_objects(loaded, name, without=True, dependencies=dependencies):
        with explained():
            await apply_app(client, Places.of_session(session), needed, added_to=True)
    return next(tree for tree in loaded.objects if part_of(tree) == name)


async def ended_by_signals(work: "Coroutine[Any, Any, int]") -> int:
    """Returns the exit code of a command. SIGTERM and SIGHUP cancel the command."""
    running, loop = asyncio.ensure_future(work), asyncio.get_running_loop()
    came: list[int] = []

    def end(number: int) -> None:
        came.append(number)
        running.cancel()

    ending = [] if sys.platform == "win32" else [signal.SIGTERM, signal.SIGHUP]
    for number in ending:
        loop.add_signal_handler(number, end, number)
    try:
        return await running
    except asyncio.CancelledError:
        if came:
            return _SIGNALLED + came[0]
        raise
    finally:
        for number in ending:
            loop.remove_signal_handler(number)


async def _run(wanted: _Wanted, profiles: tuple[str, ...], server: Server) -> int:
    """Runs a task and returns its exit code."""
    if given_files() or _has_no_server(server):
        return await _alone(wanted, profiles)
    async with connect(server) as client:
        return await run_task(_named(client), wanted.task, wanted.arguments)


def _has_no_server(server: Server) -> bool:
    """Returns True if the user named no server and no app is running here."""
    if server.kubeconfig or server.session or os.environ.get("KUBECONFIG"):
        return False
    try:
        return find(server).session is None
    except Failure:
        return True


# In a temporary session


async def _alone(wanted: _Wanted, profiles: tuple[str, ...]) -> int:
    from setpoint.cli.app.app_file import find_file, read_file

    found = find_file("")
    loaded = read_file(found, os.environ, profiles, names=[wanted.task])
    if wanted.task not in loaded.app.tasks:
        raise Failure(_no_task(wanted.task, list(loaded.app.tasks)), NOT_FOUND)
    async with _session(found, loaded, needed_objects(loaded, wanted.task)) as client:
        return await run_task(_named(client), wanted.task, wanted.arguments)


@asynccontextmanager
async def _session(file: "Path", loaded: "LoadedApp", objects: "list[Object]") -> "AsyncIterator[Client]":
    """Opens a session for one run under a unique name, with the objects that the run needs. The session ends with this
    process and leaves no files."""
    import shutil

    require_processes()
    from setpoint.cli.support.errors import explained
    from setpoint.session.app_apply import apply_app
    from setpoint.session.paths import Places
    from setpoint.session.registry import process_identity
    from setpoint.session.shutdown import end
    from setpoint.session.startup import StartFailed, start

    name = f"{loaded.app.app}-run-{os.getpid()}"
    try:
        started = await start(name, file, os.environ, profiles=loaded.profiles, attendant=process_identity())
    except StartFailed as error:
        raise Failure(f"cannot start {name}: {error}") from None
    places = Places.of_session(started.session)
    try:
        async with connect(Server(session=started.session.id), quiet=True) as client:
            try:
                with explained():
                    await apply_app(client, places, objects)
                yield client
            finally:
                ended = await asyncio.shield(end(started.session, client, lambda _: None))
        if ended.left:
            raise Failure(f"{loaded.app.app} ended, but some objects are left: {ended}")
    finally:
        shutil.rmtree(places.data, ignore_errors=True)


def needed_objects(
    loaded: "LoadedApp", name: str, *, without: bool = False, dependencies: bool = True
) -> "list[Object]":
    """Returns the objects of an app that a service or task needs, in order; with `without`, except its own. A task is
    suspended, so that only a request runs the task."""
    from setpoint.session.selection import part_of, selected_objects

    found = []
    for tree in selected_objects(loaded.objects, [name], dependencies=dependencies):
        if part_of(tree) != name:
            is_ours = tree["kind"] in _GROUNDWORK or is_workload(tree)
            found += [tree] if is_ours else []
        elif not without:
            found.append({**tree, "spec": {**tree["spec"], "suspend": True}})
    return found


# A single run


def _named(client: "Client") -> "Client":
    """Returns a client with a field manager that names this command."""
    return client.with_options(field_manager=f"{FIELD_MANAGER} run")


async def run_task(client: "Client", name: str, arguments: tuple[str, ...] = ()) -> int:
    """Runs a task after its dependencies and returns its exit code. Raises Failure."""
    from setpoint.session.runs import TASK, Busy, request_run

    task = await _task(client, name)
    for each in task["spec"].get("dependsOn") or ():
        if each["kind"] == "Task" and (code := await _run_before(client, name, each["name"])):
            return code
    try:
        request = await request_run(client, name, arguments)
    except Busy:
        hint = f"`setpoint logs -f {name}` shows its output, `setpoint stop {name}` stops the run"
        raise Failure(f"{name} is already running: {hint}", CONFLICT) from None
    try:
        return await _Following(client, await client.get(TASK, name), request).to_its_end()
    except asyncio.CancelledError:
        await asyncio.shield(_interrupted(client, name, request))
        raise


async def _task(client: "Client", name: str) -> "Object":
    from setpoint.objects.errors import NotFound
    from setpoint.session.runs import TASK

    try:
        found: Object = await client.get(TASK, name)
    except NotFound:
        names = [tree["metadata"]["name"] for tree in (await client.list(TASK)).items]
        raise Failure(_no_task(name, names), NOT_FOUND) from None
    return found


def _no_task(name: str, known: list[str]) -> str:
    from setpoint.cli.output.words import did_you_mean

    there = (
        f"available tasks: {', '.join(known)}"
        if known
        else "the app has no tasks; add them under `tasks` in the app file"
    )
    hint = did_you_mean(name, known) or there
    return f"task {name} not found; {hint}"


async def _run_before(client: "Client", name: str, before: str) -> int:
    """Runs a task that another task depends on, unless that one has succeeded or starts automatically."""
    task = await _task(client, before)
    status = task.get("status") or {}
    if status.get("state") == "Succeeded" or status.get("active") or not task["spec"].get("suspend"):
        return 0
    code = await run_task(client, before)
    if code:
        echo(f"{before} failed, so {name} was not run", err=True)
    return code


class _Following:
    """Follows one run from its request to its end."""

    def __init__(self, client: "Client", task: "Object", request: str) -> None:
        self._client, self._task, self._request = client, task, request
        self._name = task["metadata"]["name"]
        self._seen: set[str] = set()

    async def to_its_end(self) -> int:
        """Copies the output of all attempts and returns the exit code of the last one. Raises Failure."""
        from setpoint.session.runs import TASK, attempts_of, run_of, was_left_out

        began, last_message = self._client.clock.monotonic(), ""
        while True:
            for each in await attempts_of(self._client, self._task, self._request):
                if each["metadata"]["uid"] not in self._seen:
                    self._seen.add(each["metadata"]["uid"])
                    await copy_output(self._client, each)
            task = await self._client.get(TASK, self._name)
            run = run_of(task, self._request)
            if run is not None and run["state"] != "Running":
                return _ended(self._name, run)
            if was_left_out(task, self._request):
                raise Failure(f"{self._name} was not run: another run of the task was active", CONFLICT)
            if not self._seen and self._client.clock.monotonic() - began > _PATIENCE_SECONDS:
                last_message = self._print_wait(task, last_message)
            await self._client.clock.sleep(_LOOK_SECONDS)

    def _print_wait(self, task: "Object", before: str) -> str:
        """Prints the dependency that the run waits for, if that has changed. Returns the last printed message."""
        from setpoint.objects import conditions

        ready = conditions.of(task, "Ready")
        if not ready.get("reason", "").startswith("Waiting") or ready["message"] == before:
            return before
        echo(f"{self._name} {ready['message']}", err=True)
        return str(ready["message"])


def _ended(name: str, run: "Object") -> int:
    if run["state"] == "Succeeded":
        return 0
    code: int | None = run.get("exitCode")
    attempts = run.get("attempts", 1)
    if not code or attempts > 1:
        echo(f"{name} failed: {run.get('message') or 'unknown reason'} · setpoint why {name}", err=True)
    return code or FAILED


async def copy_output(client: "Client", attempt: "Object") -> None:
    """Copies stdout and stderr of a process or container to ours until both end. A process with a terminal is attached
    to our terminal.
    """
    if attempt["spec"].get("terminal") is not None:
        await _share_terminal(client, attempt)
        return
    out, err = sys.stdout.buffer, sys.stderr.buffer
    await asyncio.gather(_copy(client, attempt, "stdout", out), _copy(client, attempt, "stderr", err))


async def _copy(client: "Client", attempt: "Object", source: str, to: "IO[bytes]") -> None:
    from setpoint.client.kinds import ref_of
    from setpoint.client.requests import query_of
    from setpoint.client.transport import Call
    from setpoint.objects.errors import NotFound

    resource = await client.resource(ref_of(attempt))
    path = resource.path(name=attempt["metadata"]["name"], subresource="log")
    call = Call("GET", path, tuple(query_of(source=source, follow="true")), {"accept": "*/*"})
    try:
        async with client.stream(call) as stream:
            async for piece in stream:
                to.write(piece)
                to.flush()
    except NotFound:
        return  # already deleted


async def _share_terminal(client: "Client", attempt: "Object") -> None:
    from setpoint.cli.workloads.exec_attach import talk
    from setpoint.client.kinds import ref_of

    kind, name = ref_of(attempt), attempt["metadata"]["name"]
    found = await client.wait_for(kind, name, until=_has_begun)
    if found is not None and found["status"]["state"] == "Running":
        path = (await client.resource(kind)).path(name=name, subresource="attach")
        is_ours = sys.stdin.isatty() and sys.stdout.isatty()
        await talk(client, path, [], stdin=is_ours, tty=is_ours)


def _has_begun(tree: "Object | None") -> bool:
    state = ((tree or {}).get("status") or {}).get("state", "")
    return tree is None or state not in ("", "Pending", "Starting", "Building")


async def _interrupted(client: "Client", name: str, request: str) -> None:
    """Stops a run and waits for its end."""
    from setpoint.objects.clock import timeout
    from setpoint.objects.errors import APIError
    from setpoint.session.part_control import end_run
    from setpoint.session.runs import TASK, attempts_of, run_of, withdraw

    echo(f"stopping {name}", err=True)
    try:
        async with timeout(client.clock, _ENDING_SECONDS):
            await withdraw(client, name, request)
            # The run may have begun at this moment.
            task, deadline = await client.get(TASK, name), client.clock.monotonic() + _BEGINNING_SECONDS
            while not (begun := await attempts_of(client, task, request)) and client.clock.monotonic() < deadline:
                await client.clock.sleep(_LOOK_SECONDS)
            for each in begun[-1:]:
                await end_run(client, each, "interrupted by the user")
            while (run := run_of(await client.get(TASK, name), request)) is not None and run["state"] == "Running":
                await client.clock.sleep(_LOOK_SECONDS)
    except (TimeoutError, APIError) as error:
        echo(f"{name} may still be running: {error or 'the run does not end'} · setpoint ps", err=True)
