"""The kubeconfig that an instance writes for its client. Its existence means that the instance is ready.

An existing kubeconfig is never overwritten, because another instance may use that file. The file is removed when the
instance ends.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from setpoint.cli.support.errors import Failure
from setpoint.server import secret_files
from setpoint.server.edge.kubeconfig import kubeconfig
from setpoint.store.files import make_directory

CLUSTER, USER, CONTEXT = "apiserver_cluster", "apiserver_user", "apiserver"
# Replaces the token if both sides know the token already.
PLACEHOLDER = "<placeholder>"
_MARK = "# Written by Setpoint for its client. Removed when the control plane stops.\n"


def check_free(path: Path) -> None:
    """Raises Failure if a kubeconfig already exists at the path."""
    if path.is_dir():
        raise Failure(f"{path} is a directory: pass the path of a file with --kubeconfig")
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}: choose another path with --kubeconfig") from None
    if size > 0:
        raise Failure(
            f"{path} already exists and may belong to another instance: remove the file, or choose another path "
            "with --kubeconfig"
        )


@contextmanager
def published_kubeconfig(path: Path, url: str, authority: bytes | None, token: str) -> Iterator[None]:
    """Writes the kubeconfig atomically, readable by the current user only, and removes the file at the end of the
    block.
    """
    text = kubeconfig(url, authority=authority, token=token, user=USER, cluster=CLUSTER, context=CONTEXT, mark=_MARK)
    make_directory(path.parent)
    check_free(path)
    path.unlink(missing_ok=True)  # at most an empty file
    if secret_files.write_once(path, text.encode()) != text.encode():
        check_free(path)  # another instance was faster
    written = path.stat().st_ino
    try:
        yield
    finally:
        with suppress(OSError):
            # A file that another process has put in its place is kept.
            if path.stat().st_ino == written:
                path.unlink()
