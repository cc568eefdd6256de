"""`setpoint export`: writes the history and logs of an app, or the objects of a cluster, to one file, which `setpoint
import` opens."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from setpoint.cli.output.formats import Form, output_option, write_tree
from setpoint.cli.output.terminal import echo
from setpoint.cli.output.words import counted, in_bytes
from setpoint.cli.support.connection import Server, connect, find, run, server_options
from setpoint.cli.support.cwd import here
from setpoint.cli.support.durations import seconds_option
from setpoint.cli.support.errors import NOT_FOUND, Failure

if TYPE_CHECKING:
    from setpoint.session.archive.sources import ArchiveSource
    from setpoint.session.archive.writer import Written
    from setpoint.session.registry import Session


# The maximum size of each text file in the archive.
_MOST_TEXT = 1 << 20


class _Selected(NamedTuple):
    """The objects of a cluster to export, as on the command line."""

    kinds: str
    namespaces: str
    labels: str
    events: bool


class _From(NamedTuple):
    """The source of an archive: the directory of an ended session, a running server, or objects of a cluster."""

    name: str
    session: "Session | None" = None
    ended: Path | None = None
    selected: _Selected | None = None


@click.command()
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@seconds_option("--since", help="Only include changes of the last 30s, 5m, 1h.")
@click.option("--no-logs", is_flag=True, help="Exclude the logs of workloads.")
@click.option("--crashed", is_flag=True, help="Export the previous run, which crashed.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--cluster", is_flag=True, help="Export the current objects of any Kubernetes cluster.")
@click.option("--kinds", metavar="KINDS", default="", help="With --cluster: only these kinds, separated by commas.")
@click.option("--namespaces", metavar="NAMES", default="", help="With --cluster: only these namespaces.")
@click.option("-l", "--selector", metavar="LABELS", default="", help="With --cluster: only objects with these labels.")
@click.option("--events", is_flag=True, help="With --cluster: include events.")
@output_option("json", "yaml")
@server_options
def export(
    file: Path | None,
    since: float | None,
    no_logs: bool,
    crashed: bool,
    force: bool,
    cluster: bool,
    kinds: str,
    namespaces: str,
    selector: str,
    events: bool,
    form: Form,
    server: Server,
) -> None:
    """Export the history and logs of an app, or the objects of a cluster, to a file.

    The file contains every stored revision with its author, time and cause, and the logs of the workloads. The app may
    be running, ended or crashed. Secrets are masked: data of Secrets, variables with names like PASSWORD, passwords in
    URLs, JSON Web Tokens, and other occurrences of the same values. Open the file with `setpoint import`.

    With --cluster, the file contains the current objects of a Kubernetes cluster that you may list, with their status,
    owners and definitions. Resources that you may not list are skipped and named. `testing.world(state=FILE)` starts a
    test from these objects.

    \b
      setpoint export                        # shop-20260131-120000.setpoint
      setpoint export bug.setpoint --since 10m
      setpoint export --session shop --no-logs
      setpoint export --cluster --kubeconfig ~/.kube/config --namespaces shop bug.setpoint
    """
    selected = _Selected(kinds, namespaces or server.namespace, selector, events) if cluster else None
    if selected is None and (kinds or namespaces or selector or events):
        raise Failure("--kinds, --namespaces, --selector and --events need --cluster")
    if selected is not None and (since or crashed):
        raise Failure("--since and --crashed need a history, which --cluster does not read")
    source = _meant(server, crashed) if selected is None else _From(server.context or "cluster", selected=selected)
    path = file or Path(f"{source.name}-{_stamp()}.setpoint")
    if path.exists() and not force:
        raise Failure(f"{path} already exists: choose another file, or overwrite with --force")
    written = run(_export(source, path, since, not no_logs, server))
    if form.name:
        from msgspec import to_builtins

        write_tree({"file": str(path), "bytes": written.size, **to_builtins(written.manifest)}, form)
        return
    manifest = written.manifest
    outputs = counted(len({log.uid for log in manifest.logs}), "workload")
    parts = [f"{manifest.revisions:,} writes up to revision {manifest.revision:,}", f"logs of {outputs}"]
    if cluster:
        parts = [f"{counted(manifest.revisions, 'object')} at revision {manifest.revision:,}"]
    echo(f"wrote {path}: {', '.join(parts)}, {in_bytes(written.size)}; secrets are masked")
    for note in manifest.notes:
        echo(f"not included: {note}", err=True)


def _stamp() -> str:
    from setpoint.objects.clock import SystemClock

    return f"{SystemClock().now():%Y%m%d-%H%M%S}"


def _meant(server: Server, crashed: bool) -> _From:
    """Returns the source to export: the running session, or else the last ended session of that name or directory."""
    from setpoint.cli.support.crash_cleanup import clean_crashed
    from setpoint.session.paths import Places
    from setpoint.session.registry import Sessions

    clean_crashed()
    sessions = Sessions.of(os.environ)
    running = sessions.named(server.session) if server.session else sessions.here(here())
    if crashed:
        known = [*running, *_ended(sessions.past(), server.session)]
        found = [each for each in known if each.data and Places.of_session(each).crashed.is_dir()]
        if not found:
            raise Failure("there is no crashed run before this one", NOT_FOUND)
        return _From(found[-1].app, found[-1], Places.of_session(found[-1]).crashed)
    if not running and not server.kubeconfig and (ended := _ended(sessions.past(), server.session)):
        return _From(ended[-1].app, ended[-1], Path(ended[-1].data))
    session = find(server).session
    return _From(session.app if session is not None else "server", session)


def _ended(past: "list[Session]", name: str) -> "list[Session]":
    """Returns the ended sessions that match a name, or this directory if no name is given."""
    return [each for each in past if (each.is_called(name) if name else each.is_at(here()))]


async def _export(source: _From, path: Path, since: float | None, logs: bool, server: Server) -> "Written":
    from datetime import timedelta

    from setpoint.cli.output.progress import progress
    from setpoint.cli.support.errors import explained
    from setpoint.objects.clock import SystemClock
    from setpoint.plane.telemetry import stored_receiver
    from setpoint.session.archive.writer import ArchiveContents, write_archive
    from setpoint.session.paths import Places
    from setpoint.store.contract import StoreError

    clock = SystemClock()
    try:
        async with _opened(source, server) as found, progress(f"writing {path}", clock):
            begin = clock.now() - timedelta(seconds=since) if since else None
            identity = source.session.id if source.session is not None else ""
            directory = Places.of_session(source.session).telemetry if source.session and source.session.data else None
            key = stored_receiver(directory).key
            texts = await _texts(source, server)
            wanted = ArchiveContents(source.name, identity, begin, logs, texts, directory, key)
            with explained():
                return await write_archive(path, found, wanted, clock)
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror or error}") from None
    except StoreError as error:
        raise Failure(str(error)) from None


@asynccontextmanager
async def _opened(source: _From, server: Server) -> "AsyncIterator[ArchiveSource]":
    from setpoint.objects.clock import SystemClock
    from setpoint.session.archive.sources import ServerSource, StoreSource
    from setpoint.session.paths import Places

    if source.selected is not None:
        from setpoint.session.archive.cluster_source import ClusterSelection, ClusterSource

        kinds, namespaces, labels, events = source.selected
        selection = ClusterSelection(_names(namespaces), _names(kinds), labels, events)
        async with connect(server, quiet=True) as client:
            with ClusterSource(client, selection, client.namespace) as cluster:
                yield cluster
        return
    if source.ended is None:
        async with connect(server) as client:
            yield ServerSource(client)
        return
    from setpoint.store.contract import Retention
    from setpoint.store.sqlite import SqliteStore

    places, clock = Places(source.ended), SystemClock()
    if not places.store.exists():
        raise Failure(f"no stored data of {source.name}: {places.store} does not exist", NOT_FOUND)
    store = await SqliteStore.open(places.store, clock=clock, retention=Retention(), durability="off")
    try:
        yield StoreSource(store, places, clock)
    finally:
        await store.close()


def _names(text: str) -> list[str]:
    return [name for name in text.replace(",", " ").split() if name]


async def _texts(source: _From, server: Server) -> dict[str, str]:
    """Returns text files for human readers: the app files, the end of the host's log, and the doctor's findings."""
    from setpoint.cli.admin.doctor import examine
    from setpoint.cli.output.formats import json_text
    from setpoint.session.paths import Places, end_of

    if source.selected is not None:
        return {}  # the machine of the user tells nothing about the cluster
    asked = server if source.ended is None else Server()
    texts = {"doctor.json": json_text([each._asdict() for each in await examine(os.environ, asked)])}
    session = source.session
    if session is None:
        return texts
    for path in _app_files(session):
        name = os.path.relpath(path, session.directory).replace("..", "up")
        texts[f"app/{name.lstrip('/')}"] = end_of(path, _MOST_TEXT)
    if session.data:
        log = Places.of_session(session).log
        texts[log.name] = end_of(log, _MOST_TEXT)
    return {name: text for name, text in texts.items() if text}


def _app_files(session: "Session") -> list[Path]:
    """Returns the files of the app that can still be read."""
    if not session.file:
        return []
    from setpoint.app.sources import read_source
    from setpoint.objects.typedyaml import Mistakes

    try:
        files = read_source(Path(session.file), os.environ, session.profiles).files
    except Mistakes:
        files = (Path(session.file),)
    return [path for path in files if path.is_file()]
