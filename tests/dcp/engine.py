"""Podman for scenarios with containers: the program without a socket, with a storage of its own and one image."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.workload.podman import IMAGE, Service, require, root_archive


@contextmanager
def podman() -> Iterator[dict[str, str]]:
    """Yields the variables with which programs find this Podman."""
    require()
    # Podman allows only short paths.
    service = Service(Path(tempfile.mkdtemp(prefix="podman-")), block=219)
    try:
        service.configure()
        program = service.place / "programs" / "podman"
        service.write_program(program)
        command = [str(program), "import", "-", IMAGE]
        subprocess.run(command, input=root_archive(), env=service.environ, check=True, capture_output=True)
        yield {
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "CONTAINERS_CONF": service.environ["CONTAINERS_CONF"],
            "XDG_RUNTIME_DIR": str(service.place),
        }
    finally:
        service.remove()
