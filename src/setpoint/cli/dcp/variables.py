"""The environment variables that DCP's clients set, and the settings derived from them and from flags."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from setpoint.cli.support.errors import Failure
from setpoint.store.files import make_directory

if TYPE_CHECKING:
    from setpoint.workload.workloads import WorkloadSettings

SESSION_FOLDER = "DCP_SESSION_FOLDER"
TOKEN = "DCP_SECURE_TOKEN"
WORKLOAD_ID = "DCP_WORKLOAD_ID"
IP_VERSION = "DCP_IP_VERSION_PREFERENCE"
PRESERVE_LOGS = "DCP_PRESERVE_EXECUTABLE_LOGS"
OUTPUT = "DCP_PERSISTENT_EXECUTABLE_OUTPUT_DIR"
MOST_WORKLOAD_ID_BYTES = 1024
_IPV6 = ("ipv6", "v6", "6")
_FALSE = ("", "0", "false", "no")


class SessionFolder(NamedTuple):
    """The folder of an instance. With `own`, the instance created the folder and removes it at the end."""

    folder: Path
    own: bool


@contextmanager
def session(environ: Mapping[str, str]) -> Iterator[SessionFolder]:
    """Yields the folder of an instance. Removes temporary files at the end."""
    import shutil
    import tempfile

    keeps = environ.get(PRESERVE_LOGS, "").lower() not in _FALSE
    given = environ.get(SESSION_FOLDER)
    if given:
        make_directory(Path(given))
    found = SessionFolder(Path(given or tempfile.mkdtemp(prefix="setpoint-dcp-")), not given)
    try:
        yield found
    finally:
        if not keeps:
            shutil.rmtree(found.folder if found.own else found.folder / "logs", ignore_errors=True)


def kubeconfig_path(flag: str, environ: Mapping[str, str]) -> Path:
    """Returns the path of the kubeconfig to hand over."""
    if flag.strip():
        return Path(flag.strip())
    folder = environ.get(SESSION_FOLDER)
    return (Path(folder) if folder else Path.home() / ".dcp") / "kubeconfig"


def workload_id(flag: str | None, environ: Mapping[str, str]) -> str:
    """Returns the ID under which persistent resources are recorded. Raises Failure."""
    found = (environ.get(WORKLOAD_ID, "") if flag is None else flag).strip()
    if len(found.encode()) > MOST_WORKLOAD_ID_BYTES:
        where = WORKLOAD_ID if flag is None else "--workload-id"
        raise Failure(f"{where} is longer than {MOST_WORKLOAD_ID_BYTES} bytes")
    return found


def host(environ: Mapping[str, str]) -> str:
    """Returns the address to listen on. The default is 127.0.0.1, which proxies and firewalls support better
    than ::1.
    """
    return "::1" if environ.get(IP_VERSION, "").lower() in _IPV6 else "127.0.0.1"


def workload_settings(folder: Path, root: Path, flags: Mapping[str, Any]) -> "WorkloadSettings":
    """Returns the settings of workloads from flags and environment variables."""
    from setpoint.workload.records import records_path
    from setpoint.workload.workloads import WorkloadSettings

    output = os.environ.get(OUTPUT)
    return WorkloadSettings(
        directory=folder,
        records=records_path(os.environ),
        kept_directory=Path(output) if output else None,
        # All variables except the token of the control plane.
        environ={name: value for name, value in os.environ.items() if name != TOKEN},
        working_directory=root,
        workload_id=workload_id(flags["workload_id"], os.environ),
        container_runtime=flags["container_runtime"] or "",
        as_dcp=True,
    )
