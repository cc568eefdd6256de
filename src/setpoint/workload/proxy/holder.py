"""Finds the process that uses a port, as far as permissions allow."""

from setpoint.machine.chosen import system


def holder_of(port: int, protocol: str = "TCP") -> str:
    """Returns the name and pid of the process that listens on a port of this machine; empty if unknown."""
    pid = system.port_holder(protocol.lower(), port)
    if pid is None:
        return ""
    return f"{system.program(pid)} (pid {pid})" if pid else "a process of another user"
