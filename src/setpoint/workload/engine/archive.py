"""The files that are written into a container before its start, as a tar archive in memory: `createFiles` and
`pemCertificates`. The archive is unpacked at `/`: its names are absolute paths, and only described directories are
included."""

import base64
import io
import posixpath
import tarfile
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from setpoint.workload.certificates import CertificateError, certificate_files, link_name, subject_hash

_FILE_MODE, _DIRECTORY_MODE = 0o666, 0o777
DEFAULT_UMASK = 0o022


class ArchiveError(ValueError):
    """A file cannot be written; the message names the field."""


class Archive(NamedTuple):
    """The archive, and the errors of entries with `continueOnError` that were skipped."""

    data: bytes
    skipped: tuple[str, ...] = ()


class Owner(NamedTuple):
    """The numbers of the user and the group that own a file."""

    user: int
    group: int


def end_archive(archive: tarfile.TarFile, made: io.BytesIO) -> bytes:
    """Closes an archive and returns its bytes."""
    # Python pads an archive to a multiple of 10 KiB. The process in which podman unpacks the archive ends after two
    # empty blocks; if podman still writes at that moment, the upload fails with a broken pipe.
    end = archive.offset + 2 * tarfile.BLOCKSIZE
    archive.close()
    return made.getvalue()[:end]


class _Writer:
    """An archive that is being written."""

    def __init__(self, umask: int, modified: datetime) -> None:
        self._made = io.BytesIO()
        self._archive = tarfile.TarFile(fileobj=self._made, mode="w", format=tarfile.PAX_FORMAT)
        self._umask = umask
        self._modified = int(modified.timestamp())
        self.skipped: list[str] = []

    def finish(self) -> Archive:
        return Archive(end_archive(self._archive, self._made), tuple(self.skipped))

    def entries(self, found: Any, where: str, directory: str, owner: Owner) -> None:
        """Adds the entries of one directory."""
        links: dict[str, str] = {}
        adders: dict[str, Callable[[Mapping[str, Any], str, str, Owner], None]] = {
            "file": self._file,
            "symlink": self._symlink,
            "directory": self._directory,
            "openssl": lambda entry, at, path, owner: self._certificate(entry, at, path, owner, links),
        }
        for index, entry in enumerate(found or ()):
            at = f"{where}[{index}]"
            name = str(entry.get("name") or "")
            if name in ("", ".", "..") or "/" in name:
                raise ArchiveError(f"{at}.name: {name!r} must be a file name without a directory")
            kind = entry.get("type") or "file"
            if kind not in adders:
                raise ArchiveError(f"{at}.type: unsupported value {kind!r}; expected file, openssl or directory")
            whose = Owner(_number(entry, "owner", owner.user), _number(entry, "group", owner.group))
            try:
                adders[kind](entry, at, posixpath.join(directory, name), whose)
            except ArchiveError as error:
                # A directory raises the errors of its entries, which have their own `continueOnError`.
                if kind == "directory" or not entry.get("continueOnError"):
                    raise
                self.skipped.append(str(error))

    def file(self, path: str, contents: bytes, mode: int, owner: Owner, modified: int | None = None) -> None:
        """Adds one file."""
        entry = self._entry(path, mode, owner)
        entry.size = len(contents)
        if modified is not None:
            entry.mtime = modified
        self._archive.addfile(entry, io.BytesIO(contents))

    def link(self, path: str, target: str, owner: Owner) -> None:
        """Adds a symbolic link."""
        entry = self._entry(path, 0o777, owner)
        entry.type, entry.linkname = tarfile.SYMTYPE, target
        self._archive.addfile(entry)

    def _file(self, entry: Mapping[str, Any], where: str, path: str, owner: Owner) -> None:
        contents, modified = _contents(entry, where)
        self.file(path, contents, _mode(entry, _FILE_MODE, self._umask), owner, modified)

    def _symlink(self, entry: Mapping[str, Any], where: str, path: str, owner: Owner) -> None:
        if not entry.get("target"):
            raise ArchiveError(f"{where}.target: required for a symlink")
        self.link(path, entry["target"], owner)

    def _directory(self, entry: Mapping[str, Any], where: str, path: str, owner: Owner) -> None:
        made = self._entry(path, _mode(entry, _DIRECTORY_MODE, self._umask), owner)
        made.type = tarfile.DIRTYPE
        self._archive.addfile(made)
        self.entries(entry.get("entries"), f"{where}.entries", path, owner)

    def _certificate(
        self, entry: Mapping[str, Any], where: str, path: str, owner: Owner, links: dict[str, str]
    ) -> None:
        contents, modified = _contents(entry, where)
        try:
            name = link_name(subject_hash(contents.decode(errors="replace")), links)
        except CertificateError as error:
            raise ArchiveError(f"{where}: {error}") from None
        self.file(path, contents, _mode(entry, _FILE_MODE, self._umask), owner, modified)
        links[name] = entry["name"]
        self.link(posixpath.join(posixpath.dirname(path), name), entry["name"], owner)

    def _entry(self, path: str, mode: int, owner: Owner) -> tarfile.TarInfo:
        entry = tarfile.TarInfo(path.lstrip("/"))
        entry.mode, entry.mtime = mode, self._modified
        entry.uid, entry.gid = owner
        return entry


def files_archive(files: Mapping[str, Any], *, modified: datetime, where: str = "createFiles") -> Archive:
    """Returns the archive of one entry of `createFiles`. Reads the source files. Raises ArchiveError."""
    umask = files.get("umask")
    writer = _Writer(DEFAULT_UMASK if umask is None else int(umask), modified)
    owner = Owner(_number(files, "defaultOwner", 0), _number(files, "defaultGroup", 0))
    writer.entries(files.get("entries"), f"{where}.entries", files.get("destination") or "/", owner)
    return writer.finish()


def certificates_archive(certificates: Mapping[str, Any], *, modified: datetime) -> Archive:
    """Returns the archive of `pemCertificates`: `cert.pem` with all certificates, `certs/` with each certificate and
    its link, and the overwritten bundles. Raises CertificateError."""
    found = certificate_files(certificates)
    writer = _Writer(DEFAULT_UMASK, modified)
    writer.skipped += found.skipped
    mode, owner = _FILE_MODE & ~DEFAULT_UMASK, Owner(0, 0)
    destination = str(certificates.get("destination") or "/")
    bundle = found.bundle.encode()
    writer.file(posixpath.join(destination, "cert.pem"), bundle, mode, owner)
    for name, text in found.files.items():
        writer.file(posixpath.join(destination, "certs", name), text.encode(), mode, owner)
    for name, target in found.links.items():
        writer.link(posixpath.join(destination, "certs", name), target, owner)
    for path in certificates.get("overwriteBundlePaths") or ():
        writer.file(path, bundle, mode, owner)
    return writer.finish()


def _contents(entry: Mapping[str, Any], where: str) -> tuple[bytes, int | None]:
    """Returns the contents of a file, and its modification time if the file is on this machine."""
    if entry.get("source"):
        source = Path(entry["source"])
        try:
            return source.read_bytes(), int(source.stat().st_mtime)
        except OSError as error:
            raise ArchiveError(f"{where}.source: {source} cannot be read: {error.strerror}") from None
    if entry.get("contents"):
        return str(entry["contents"]).encode(), None
    try:
        return base64.b64decode(entry.get("rawContents") or "", validate=True), None
    except ValueError:
        raise ArchiveError(f"{where}.rawContents: not valid base64") from None


def _mode(entry: Mapping[str, Any], most: int, umask: int) -> int:
    return int(entry.get("mode") or 0) or most & ~umask


def _number(entry: Mapping[str, Any], name: str, default: int) -> int:
    found = entry.get(name)
    return default if found is None else int(found)
