"""Names of images, as Docker reads them: `[registry/]repository[:tag][@digest]`. Pure."""

from typing import NamedTuple

DOCKER_HUB = "docker.io"


class Reference(NamedTuple):
    """The parts of a name; the registry is Docker's own where none is given."""

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def name(self) -> str:
        """Registry and repository: everything but the version."""
        return f"{self.registry}/{self.repository}"


def parse(text: str) -> Reference:
    """The parts of an image's name."""
    name, _, digest = text.partition("@")
    first, slash, rest = name.partition("/")
    # Only what looks like a host is one: `a/b` is a repository of Docker's registry.
    is_host = bool(slash) and ("." in first or ":" in first or first == "localhost")
    registry, path = (first, rest) if is_host else (DOCKER_HUB, name)
    path, _, tag = path.partition(":")
    if registry in ("index.docker.io", DOCKER_HUB):
        registry = DOCKER_HUB
        path = path if "/" in path else f"library/{path}"
    return Reference(registry, path, tag or ("" if digest else "latest"), digest)
