"""The limit of open files for started processes: the limit that they would have without the control plane, which raises
its own limit. Programs that iterate over all descriptors, or that assume 1024, work badly with a high limit."""

import contextlib
import os
from collections.abc import Iterator

try:
    import resource
except ImportError:  # not available on Windows
    resource = None  # type: ignore[assignment]


def inherited_files() -> int:
    """Returns the limit of our parent process, or 0 if unknown."""
    if resource is None or not hasattr(resource, "prlimit"):
        return 0
    try:
        return int(resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE)[0])
    except (OSError, ValueError):
        return 0


@contextlib.contextmanager
def allowing(files: int) -> Iterator[None]:
    """Sets the limit of open files for processes started in this context; 0: our own limit."""
    if not files or resource is None:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(files, before[1]), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
