"""Writes a kubeconfig that a command creates, and replaces no file of the user."""

from pathlib import Path

from setpoint.cli.support.errors import Failure


def write_kubeconfig(path: Path, text: str) -> None:
    """Writes a file that only the current user can read. Raises Failure, also for a file of another program."""
    from setpoint.server import secret_files
    from setpoint.server.edge.kubeconfig import is_ours

    try:
        if path.exists() and not is_ours(path.read_text(errors="replace")):
            raise Failure(f"{path} exists and was not written by Setpoint; choose another file")
        secret_files.write(path, text.encode())
    except OSError as error:
        raise Failure(f"{path}: {error.strerror or error}") from None
