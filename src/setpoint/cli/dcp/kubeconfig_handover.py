"""The kubeconfig by which an instance hands itself over to its client: that it is there says that all is served.

It is never written over, as somebody else may live by it, and goes when the instance does.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from setpoint.cli.support.errors import Failure
from setpoint.server import secret_files
from setpoint.server.edge.kubeconfig import kubeconfig
from setpoint.store.files import make_directory

CLUSTER, USER, CONTEXT = "apiserver_cluster", "apiserver_user", "apiserver"
# What stands for a token that both sides know already.
PLACEHOLDER = "<placeholder>"
_MARK = "# Written by Setpoint for its client. It goes when the control plane does.\n"


def check_free(path: Path) -> None:
    """Raises what the command line shows if a kubeconfig is there already."""
    if path.is_dir():
        raise Failure(f"{path} is a directory: name the file to be written with --kubeconfig")
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}: choose another with --kubeconfig") from None
    if size > 0:
        raise Failure(
            f"{path} exists already: an instance may live by it. Remove it, or choose another with --kubeconfig"
        )


@contextmanager
def handed_over(path: Path, url: str, authority: bytes | None, token: str) -> Iterator[None]:
    """The kubeconfig is there: whole, at once, and for our own user alone."""
    text = kubeconfig(url, authority=authority, token=token, user=USER, cluster=CLUSTER, context=CONTEXT, mark=_MARK)
    make_directory(path.parent)
    check_free(path)
    path.unlink(missing_ok=True)  # at most an empty one, which says nothing
    if secret_files.write_once(path, text.encode()) != text.encode():
        check_free(path)  # somebody was quicker
    written = path.stat().st_ino
    try:
        yield
    finally:
        with suppress(OSError):
            # Whoever has put another one in its place keeps it.
            if path.stat().st_ino == written:
                path.unlink()
