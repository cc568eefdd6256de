"""The context of a build: a directory as a tar archive, without what its `.dockerignore` leaves out.

The archive is made while it is sent, a file at a time, in a thread: a context of gigabytes needs no memory and does not
stop the event loop. Owners are taken out, as Docker's client does, so that the cache does not depend on who builds.
"""

import asyncio
import os
import tarfile
from collections.abc import AsyncIterator, Iterator
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from setpoint.workload.ignore_patterns import Ignored, by_docker

_PIECE_BYTES = 1 << 20
# Where a Dockerfile is put that lies outside of the context.
_OUTSIDE = ".dockerfile.setpoint"


class ContextError(ValueError):
    """The context of a build can't be read; says why and what to do."""


class Context(NamedTuple):
    """A directory to build from. `dockerfile` is its name in the archive; `outside` its path where it is not below."""

    directory: Path
    dockerfile: str
    ignored: Ignored
    outside: Path | None = None

    async def pieces(self) -> AsyncIterator[bytes]:
        """The archive, as it is sent. Raises ContextError."""
        made = self._archive()
        while True:
            # Many small files make one piece: a thread's turn for each would cost more than reading it.
            piece = await asyncio.to_thread(_gather, made)
            if not piece:
                return
            yield piece

    def files(self) -> Iterator[tuple[str, Path]]:
        """What the archive holds, by name in it, in a fixed order."""
        kept = {self.dockerfile, ".dockerignore", f"{self.dockerfile}.dockerignore"}
        pending = [""]
        while pending:
            below = pending.pop()
            try:
                entries = sorted(os.scandir(self.directory / below), key=lambda entry: entry.name)
            except OSError as error:
                raise ContextError(f"the directory {self.directory / below} can't be read: {error.strerror}") from None
            for entry in entries:
                name = f"{below}{entry.name}"
                is_directory = entry.is_dir(follow_symlinks=False)
                ignored = name not in kept and self.ignored(name)
                if is_directory and (not ignored or self.ignored.takes_back or _holds(name, kept)):
                    pending.append(f"{name}/")
                if not ignored:
                    yield name, Path(entry.path)

    def _archive(self) -> Iterator[bytes]:
        for name, path in self.files():
            yield from _entry(name, path)
        if self.outside is not None:
            yield from _entry(self.dockerfile, self.outside)
        yield bytes(2 * tarfile.BLOCKSIZE)


def open_context(directory: str, dockerfile: str = "") -> Context:
    """The context at a directory. A relative Dockerfile is looked for in it first, then where we are. Raises
    ContextError."""
    root = Path(directory)
    if not root.is_dir():
        raise ContextError(f"build.context: there is no directory {directory}")
    inside, outside = _dockerfile(root, dockerfile)
    ignored = Ignored()
    for candidate in (Path(f"{outside or root / inside}.dockerignore"), root / ".dockerignore"):
        try:
            ignored = by_docker(candidate.read_text())
            break
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise ContextError(f"build.context: {candidate} can't be read: {error}") from None
    return Context(root, inside, ignored, outside)


def file_blocks(name: str, contents: bytes) -> bytes:
    """A file as a part of an archive: its head, and its contents in whole blocks."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(contents), 0o600
    return entry.tobuf(tarfile.PAX_FORMAT) + contents + bytes(-len(contents) % tarfile.BLOCKSIZE)


def _dockerfile(root: Path, dockerfile: str) -> tuple[str, Path | None]:
    if not dockerfile:
        # Podman's name for it, where there is none of Docker's.
        names = ("Dockerfile", "Containerfile")
        found = next((name for name in names if (root / name).is_file()), None)
        if found is None:
            raise ContextError(f"build.dockerfile: there is no Dockerfile in {root}")
        return found, None
    for candidate in (root / dockerfile, Path(dockerfile)):
        if candidate.is_file():
            try:
                return candidate.resolve().relative_to(root.resolve()).as_posix(), None
            except ValueError:
                return _OUTSIDE, candidate
    raise ContextError(f"build.dockerfile: there is no file {dockerfile}, neither in {root} nor as a path of its own")


def _holds(directory: str, kept: set[str]) -> bool:
    return any(name.startswith(f"{directory}/") for name in kept)


def _entry(name: str, path: Path) -> Iterator[bytes]:
    """The blocks of one file."""
    try:
        # An archive of its own for each: hard links are then files, as what they link to may be left out.
        entry = tarfile.TarFile(fileobj=BytesIO(), mode="w").gettarinfo(path, arcname=name)
        if entry is None:
            return  # a socket: it can't be in an archive
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        if not entry.isreg():
            yield entry.tobuf(tarfile.PAX_FORMAT)
            return
        with path.open("rb") as source:
            entry.size = os.fstat(source.fileno()).st_size
            yield entry.tobuf(tarfile.PAX_FORMAT)
            yield from _contents(source.fileno(), entry.size)
    except OSError as error:
        raise ContextError(f"build.context: {path} can't be read: {error.strerror or error}") from None


def _contents(file: int, size: int) -> Iterator[bytes]:
    """So many bytes, whatever happens to the file meanwhile, and the rest of their last block."""
    left = size
    while left:
        piece = os.read(file, min(left, _PIECE_BYTES))
        if not piece:
            piece = bytes(min(left, _PIECE_BYTES))
        left -= len(piece)
        yield piece
    yield bytes(-size % tarfile.BLOCKSIZE)


def _gather(made: Iterator[bytes]) -> bytes:
    found = bytearray()
    for piece in made:
        found += piece
        if len(found) >= _PIECE_BYTES:
            break
    return bytes(found)
