"""The interface of a process layer."""

from typing import NamedTuple, Protocol


class ProcessFields(NamedTuple):
    """The fields of a process. `started` is the start time in a unit of the layer; `state` is Z or X if ended."""

    pid: int
    state: str
    parent: int
    group: int
    session: int
    started: int


class Usage(NamedTuple):
    """The processor time in seconds, and the resident memory in bytes, of a process."""

    seconds: float
    memory: int


class Layer(Protocol):
    """The functions of one layer. None of them raises an error for a process that has ended."""

    NAME: str

    def fields(self, pid: int) -> ProcessFields | None:
        """Returns the fields of a process; None if ended."""

    def pids(self) -> list[int]:
        """Returns the pids of all processes."""

    def environment(self, pid: int) -> bytes:
        """Returns the initial environment of a process, each entry ended by a NUL; empty if not readable."""

    def program(self, pid: int) -> str:
        """Returns the name of the program of a process; empty if ended."""

    def usage(self, pid: int) -> Usage | None:
        """Returns the resources that a process uses; None if ended."""

    def boot_id(self) -> str:
        """Returns a text that differs between boots, or a constant if start times are unique across boots."""

    def since_boot(self, started: int) -> float:
        """Converts a start time to seconds since boot."""

    def boot_time(self) -> float:
        """Returns the boot time in seconds since 1970."""

    def exit_descriptor(self, pid: int) -> int | None:
        """Returns a descriptor that becomes readable when the process ends; None if ended."""

    def become_subreaper(self) -> None:
        """Makes this process the parent of orphaned descendants, where the system supports that."""

    def memory_file(self) -> int:
        """Returns the descriptor of a new nameless file."""

    def port_holder(self, protocol: str, port: int) -> int | None:
        """Returns the pid of the process that uses a local port; 0 if the process belongs to another user, None if no
        process uses the port."""
