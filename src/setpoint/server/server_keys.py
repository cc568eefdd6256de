"""The keys of a server: its certificate authorities, the key of service account tokens, the administrator's token.

Each key is created at its first use and kept in a file of a directory, so that clients keep trusting the server after a
restart. Without a directory the keys exist only in the process.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from setpoint.server import secret_files
from setpoint.store.files import make_directory


class OtherKeysError(ValueError):
    """A key of the directory differs from the one that servers share."""


class ServerKeys:
    """Keys by the names of their files."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = directory
        self._kept: dict[str, bytes] = {}

    def keep(self, name: str, make: Callable[[], bytes]) -> bytes:
        """Returns the key of this name. Without one, makes and keeps it. Raises OSError."""
        found = self._kept.get(name)
        if found is None:
            found = self._kept[name] = self._stored(name, make)
        return found

    def existing(self, name: str) -> bytes | None:
        """Returns the key of this name; None without one. Raises OSError."""
        path = self._path(name)
        return self._kept.get(name) or (path.read_bytes() if path is not None and path.exists() else None)

    def adopt(self, shared: Mapping[str, bytes]) -> None:
        """Keeps the keys that servers share. Raises OtherKeysError if the directory has others, and OSError."""
        for name, key in shared.items():
            if self.existing(name) not in (None, key):
                raise OtherKeysError(
                    f"{self.place(name)} differs from the identity that the servers of this store share: set --data to "
                    "another directory, or move the file away. Clients that trust only the moved file need new "
                    "credentials"
                )
        for name, key in shared.items():
            self._kept[name] = self._stored(name, partial(bytes, key))

    def place(self, name: str) -> str:
        """Returns the place of a key, for messages."""
        return str(self._path(name) or name)

    def _path(self, name: str) -> Path | None:
        return self.directory / name if self.directory is not None else None

    def _stored(self, name: str, make: Callable[[], bytes]) -> bytes:
        path = self._path(name)
        if path is None:
            return make()
        try:
            return path.read_bytes()
        except FileNotFoundError:
            make_directory(path.parent)
            return secret_files.write_once(path, make())
