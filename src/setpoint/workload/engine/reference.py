"""Parses image names as Docker does: `[registry/]repository[:tag][@digest]`. No I/O."""

from typing import NamedTuple

DOCKER_HUB = "docker.io"


class ImageReference(NamedTuple):
    """The parts of an image name; the default registry is Docker Hub."""

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def name(self) -> str:
        """The registry and repository, without tag and digest."""
        return f"{self.registry}/{self.repository}"


def parse(text: str) -> ImageReference:
    """Returns the parts of an image name."""
    name, _, digest = text.partition("@")
    first, slash, rest = name.partition("/")
    # The first part is a registry only if it looks like a host: `a/b` is a repository of Docker Hub.
    is_host = bool(slash) and ("." in first or ":" in first or first == "localhost")
    registry, path = (first, rest) if is_host else (DOCKER_HUB, name)
    path, _, tag = path.partition(":")
    if registry in ("index.docker.io", DOCKER_HUB):
        registry = DOCKER_HUB
        path = path if "/" in path else f"library/{path}"
    return ImageReference(registry, path, tag or ("" if digest else "latest"), digest)
