"""Finds the process that uses a port, as far as permissions allow."""

import os
from contextlib import suppress
from pathlib import Path

_LISTENING = "0A"


def holder_of(port: int, protocol: str = "TCP") -> str:
    """Returns the name and pid of the process that listens on a port of this machine; empty if unknown."""
    inodes = _inodes(port, protocol.lower())
    if not inodes:
        return ""
    wanted = {f"socket:[{inode}]" for inode in inodes}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError), os.scandir(process / "fd") as descriptors:
            for descriptor in descriptors:
                with suppress(OSError):
                    if os.readlink(descriptor.path) in wanted:
                        return f"{(process / 'comm').read_text().strip()} (pid {process.name})"
    return "a process of another user"


def _inodes(port: int, protocol: str) -> set[str]:
    found = set()
    for table in (f"/proc/net/{protocol}", f"/proc/net/{protocol}6"):
        with suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                is_held = protocol == "udp" or fields[3] == _LISTENING
                if is_held and int(fields[1].rpartition(":")[2], 16) == port:
                    found.add(fields[9])
    return found
