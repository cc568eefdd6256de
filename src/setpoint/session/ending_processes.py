"""The processes that a stopping session waits for, by the workload that started them."""

from collections.abc import Collection, Mapping

from setpoint.workload.process.identity import Identity, boot_id
from setpoint.workload.process.process_table import ProcessTable
from setpoint.workload.process.termination import program_of


def ending_processes(host: Identity, workloads: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Returns the running processes of a session's host as `pid 12 (nginx)`, by the names of workloads; `workloads` has
    the names by uid."""
    table = ProcessTable()
    # The session of the host is its identity and a random suffix.
    session = f"{host.pid}-{host.started}-{boot_id()[:8]}-"
    found: dict[str, set[int]] = {}
    for cookie, pids in table.cookies().items():
        name = workloads.get(cookie.rpartition("/")[2])
        if name is not None and cookie.startswith(session):
            found.setdefault(name, set()).update(pids)
    return {name: tuple(map(_text, sorted(pids))) for name, pids in found.items()}


def waiting_text(names: Collection[str], processes: Mapping[str, Collection[str]]) -> str:
    """Returns the workloads that a shutdown waits for, each with its processes."""
    return ", ".join(f"{name} [{', '.join(there)}]" if (there := processes.get(name)) else name for name in names)


def _text(pid: int) -> str:
    return f"pid {pid} ({program_of(pid)})"
