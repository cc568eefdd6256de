"""Opens an archive as a read-only session."""

import asyncio
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from setpoint.objects.clock import Clock
from setpoint.objects.times import format_time
from setpoint.past.archive.format import BadArchive, Manifest
from setpoint.past.archive.reader import opened, read_manifest
from setpoint.session.archive.unpack import unpack
from setpoint.session.host import READY
from setpoint.session.leftovers import last_log_error
from setpoint.session.locks import locked
from setpoint.session.paths import Places
from setpoint.session.registry import Session, Sessions, session_id
from setpoint.session.startup import launch
from setpoint.store.files import make_directory

SUFFIX = ".setpoint"
_is_name = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?").fullmatch


class Shown(NamedTuple):
    """An open archive."""

    session: Session
    manifest: Manifest


def name_for(path: Path) -> str:
    """Returns the default session name for an archive, derived from its file name."""
    return (
        re.sub(r"[^a-z0-9.-]+", "-", path.name.removesuffix(SUFFIX).lower()).strip(".-")[:63].strip(".-") or "archive"
    )


async def show(path: Path, name: str, environ: Mapping[str, str], clock: Clock) -> Shown:
    """Opens an archive under a name. Raises BadArchive, StoreError, OSError, after removing all its files."""
    if not _is_name(name):
        raise BadArchive(
            f"invalid session name {name!r}: use lowercase letters, digits, - and .; choose one with --name"
        )
    path = path.resolve()
    sessions = Sessions.of(environ)
    if taken := sessions.named(name):
        raise BadArchive(
            f"session {taken[0].id} is already running; choose another name with --name, or stop that session"
        )
    places = Places.of(environ, session_id(name, str(path)))
    with _alone(sessions.directory / f"{places.data.name}.opening", name), opened(path) as archive:
        manifest = read_manifest(archive)
        shutil.rmtree(places.data, ignore_errors=True)
        make_directory(places.data)
        try:
            await asyncio.to_thread(unpack, archive, manifest, places)
            session = Session(
                app=name,
                # No command runs in this directory: the session is found by its name only.
                directory=str(path),
                process="",
                kubeconfig=str(places.kubeconfig),
                url="",
                started=format_time(clock.now()),
                data=str(places.data),
                imported=str(path),
                exported=manifest.exported,
            )
            arguments = [msgspec.json.encode(session).decode()]
            output = await launch("setpoint.session.archive.host", arguments, environ, places)
            found = next((each for each in sessions.alive() if each.id == session.id), None)
            if output != READY or found is None:
                raise BadArchive(
                    f"cannot open the archive: {output or last_log_error(session) or 'its server exited immediately'}"
                )
        except BaseException:
            shutil.rmtree(places.data, ignore_errors=True)
            raise
    return Shown(found, manifest)


@contextmanager
def _alone(lock: Path, name: str) -> Iterator[None]:
    """Locks the session name while the archive is being opened. Raises BadArchive."""
    make_directory(lock.parent)
    with locked(lock) as ours:
        if not ours:
            raise BadArchive(f"another process is opening an archive as {name}")
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)
