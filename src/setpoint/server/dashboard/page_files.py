"""The files of the page, with their ETags and compressed forms. They are read once and again after a change."""

import re
import zlib
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}
# Formats that are compressed already.
_PACKED = frozenset((".png", ".woff2"))
# The window size of zlib that stands for gzip.
_GZIP = 31
# The maximum number of files in memory. The page has fewer.
_MOST_FILES = 500
# Names begin with a letter or a digit: no part of a path is hidden or leads upwards.
_is_name = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*").fullmatch


class PageFile(NamedTuple):
    """One file of the page."""

    content_type: str
    etag: str
    content: bytes
    # Compressed with gzip; empty if that is not shorter.
    packed: bytes
    # The hashes of the scripts inside, as sources of a Content Security Policy.
    script_hashes: tuple[str, ...] = ()


class PageFiles:
    """The files below a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        # The files by name, with their size and modification time.
        self._read: dict[str, tuple[tuple[int, int], PageFile]] = {}

    def known(self, name: str) -> PageFile | None:
        """Returns a file that was read before and has not changed since."""
        known = self._read.get(name)
        try:
            return known[1] if known is not None and known[0] == _version(self._directory / name) else None
        except OSError:
            return None

    def read(self, name: str) -> PageFile | None:
        """Reads and compresses a file, which takes some milliseconds. Returns None if there is no such file."""
        path = self._directory / name
        kind = _TYPES.get(path.suffix)
        if kind is None or not _is_name(name):
            return None
        try:
            version = _version(path)
            content = path.read_bytes()
        except OSError:
            return None
        packed = b"" if path.suffix in _PACKED else _gzip(content)
        short = packed if len(packed) < len(content) else b""
        scripts = content.split(b"<script>")[1:] if path.suffix == ".html" else []
        hashes = tuple(_script_hash(each.partition(b"</script>")[0]) for each in scripts)
        found = PageFile(kind, f'"{sha256(content).hexdigest()[:32]}"', content, short, hashes)
        if len(self._read) < _MOST_FILES:
            self._read[name] = version, found
        return found


def _script_hash(script: bytes) -> str:
    """Returns the source that permits a script inside a page."""
    return f"'sha256-{b64encode(sha256(script).digest()).decode()}'"


def _gzip(content: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, _GZIP)
    return packer.compress(content) + packer.flush()


def _version(path: Path) -> tuple[int, int]:
    """Returns the size and the modification time of a file. Raises OSError."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns
