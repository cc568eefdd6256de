"""How many files a process may open: what it would have had without us, for a control plane allows itself as many as it
can, and programs that go through all of them, or believe in 1024, do badly with that."""

import contextlib
import os
from collections.abc import Iterator

try:
    import resource
except ImportError:  # there is no such thing on Windows
    resource = None  # type: ignore[assignment]


def inherited_files() -> int:
    """What whoever started us allows; 0 where that cannot be known."""
    if resource is None or not hasattr(resource, "prlimit"):
        return 0
    try:
        return int(resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE)[0])
    except (OSError, ValueError):
        return 0


@contextlib.contextmanager
def allowing(files: int) -> Iterator[None]:
    """What is started meanwhile may open so many; 0: as many as we may."""
    if not files or resource is None:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(files, before[1]), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
