"""The context of a build: a directory as a tar archive, without the files that its `.dockerignore` excludes.

The archive is created while sending, one file at a time, in a thread: a context of gigabytes needs little memory and
does not block the event loop. Owners are removed, as Docker's client does, so that the build cache does not depend on
the user.
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
# The archive name of a Dockerfile outside of the context.
_OUTSIDE = ".dockerfile.setpoint"


class ContextError(ValueError):
    """The context of a build cannot be read; the message has the reason and the remedy."""


class Context(NamedTuple):
    """A directory to build from. `dockerfile` is the name in the archive; `outside` is its path if not below the
    directory."""

    directory: Path
    dockerfile: str
    ignored: Ignored
    outside: Path | None = None
    # The text of a Dockerfile that is no file.
    inline: str = ""

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yields the archive in pieces. Raises ContextError."""
        made = self._archive()
        while True:
            # Many small files are combined: a thread switch for each would cost more than reading the file.
            piece = await asyncio.to_thread(_join, made)
            if not piece:
                return
            yield piece

    def files(self) -> Iterator[tuple[str, Path]]:
        """Yields the files of the archive by name, in a fixed order."""
        kept = {self.dockerfile, ".dockerignore", f"{self.dockerfile}.dockerignore"}
        pending = [""]
        while pending:
            below = pending.pop()
            try:
                entries = sorted(os.scandir(self.directory / below), key=lambda entry: entry.name)
            except OSError as error:
                raise ContextError(f"the directory {self.directory / below} cannot be read: {error.strerror}") from None
            for entry in entries:
                name = f"{below}{entry.name}"
                is_directory = entry.is_dir(follow_symlinks=False)
                ignored = name not in kept and self.ignored(name)
                if is_directory and (not ignored or self.ignored.has_exceptions or _contains(name, kept)):
                    pending.append(f"{name}/")
                if not ignored:
                    yield name, Path(entry.path)

    def _archive(self) -> Iterator[bytes]:
        for name, path in self.files():
            yield from _entry(name, path)
        if self.outside is not None:
            yield from _entry(self.dockerfile, self.outside)
        if self.inline:
            yield file_blocks(self.dockerfile, self.inline.encode())
        yield bytes(2 * tarfile.BLOCKSIZE)


def open_context(directory: str, dockerfile: str = "", inline: str = "") -> Context:
    """Returns the context of a directory. A relative Dockerfile is searched in the directory first, then in the working
    directory; `inline` is the text of a Dockerfile instead. Raises ContextError."""
    root = Path(directory)
    if not root.is_dir():
        raise ContextError(f"build.context: directory {directory} does not exist")
    inside, outside = (_OUTSIDE, None) if inline else _dockerfile(root, dockerfile)
    ignored = Ignored()
    for candidate in (Path(f"{outside or root / inside}.dockerignore"), root / ".dockerignore"):
        try:
            ignored = by_docker(candidate.read_text())
            break
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise ContextError(f"build.context: {candidate} cannot be read: {error}") from None
    return Context(root, inside, ignored, outside, inline)


def file_blocks(name: str, contents: bytes) -> bytes:
    """Returns a file as a part of an archive: its header, and its contents in whole blocks."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(contents), 0o600
    return entry.tobuf(tarfile.PAX_FORMAT) + contents + bytes(-len(contents) % tarfile.BLOCKSIZE)


def _dockerfile(root: Path, dockerfile: str) -> tuple[str, Path | None]:
    if not dockerfile:
        # Containerfile is Podman's name, used if no Dockerfile exists.
        names = ("Dockerfile", "Containerfile")
        found = next((name for name in names if (root / name).is_file()), None)
        if found is None:
            raise ContextError(f"build.dockerfile: no Dockerfile in {root}")
        return found, None
    for candidate in (root / dockerfile, Path(dockerfile)):
        if candidate.is_file():
            try:
                return candidate.resolve().relative_to(root.resolve()).as_posix(), None
            except ValueError:
                return _OUTSIDE, candidate
    raise ContextError(f"build.dockerfile: {dockerfile} not found in {root} or the working directory")


def _contains(directory: str, kept: set[str]) -> bool:
    return any(name.startswith(f"{directory}/") for name in kept)


def _entry(name: str, path: Path) -> Iterator[bytes]:
    """Yields the blocks of one file."""
    try:
        # A separate archive for each file: hard links become files, because their targets may be excluded.
        entry = tarfile.TarFile(fileobj=BytesIO(), mode="w").gettarinfo(path, arcname=name)
        if entry is None:
            return  # a socket, which an archive cannot contain
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
        raise ContextError(f"build.context: {path} cannot be read: {error.strerror or error}") from None


def _contents(file: int, size: int) -> Iterator[bytes]:
    """Yields exactly `size` bytes, even if the file changes meanwhile, and the padding of the last block."""
    left = size
    while left:
        piece = os.read(file, min(left, _PIECE_BYTES))
        if not piece:
            piece = bytes(min(left, _PIECE_BYTES))
        left -= len(piece)
        yield piece
    yield bytes(-size % tarfile.BLOCKSIZE)


def _join(made: Iterator[bytes]) -> bytes:
    found = bytearray()
    for piece in made:
        found += piece
        if len(found) >= _PIECE_BYTES:
            break
    return bytes(found)
