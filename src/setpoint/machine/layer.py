"""The interface of a process layer."""

from collections.abc import Collection, Iterator, Mapping
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


class Resources(NamedTuple):
    """The resources of this process: memory in bytes, descriptors, and the start time in seconds since 1970.
    `most_descriptors` is 0 without a limit."""

    virtual_memory: int
    resident_memory: int
    descriptors: int
    most_descriptors: int
    started: float


class ListeningSocket(NamedTuple):
    """A listening TCP socket: its local address, and a key by which the layer finds the processes that have it."""

    address: str
    key: int


class Problem(NamedTuple):
    """A reason why processes cannot run on this machine, with a remedy."""

    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.reason}: {self.remedy}"


class Layer(Protocol):
    """The functions of one layer. None of them raises an error for a process that has ended."""

    NAME: str
    # True if the processes of containers of a local engine are processes of this machine, not of a virtual machine.
    SEES_CONTAINERS: bool

    def problem(self) -> Problem | None:
        """Returns the reason why this machine cannot use the layer, or None."""

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

    def listening(self, port: int) -> list[ListeningSocket]:
        """Returns the listening TCP sockets of a port, as far as visible to this user."""

    def has_socket(self, pid: int, keys: Collection[int]) -> bool | None:
        """Returns True if a process has one of the listening sockets; None if this is not visible to this user."""

    def family(self, pid: int) -> Iterator[int]:
        """Yields a process and its descendants, without a snapshot of all processes where the system allows that."""

    def pid_inside(self, pid: int) -> int | None:
        """Returns the pid of a process in the namespace of its container; None if unknown."""

    def pid_namespace(self) -> str:
        """Returns a text that is equal for all processes which see the same pids."""

    def resources(self) -> Resources | None:
        """Returns the resources that this process uses; None if unknown."""

    def local_ports(self) -> tuple[int, int] | None:
        """Returns the first and the last ephemeral port; None if unknown."""

    def watch_limits(self) -> Mapping[str, int]:
        """Returns the limits of file watches of the user, by their names in sysctl; empty without limits."""
