"""The build of a Container's image."""

from typing import Annotated, Literal

from setpoint.schema.types import Int64, ListMap, Minimum, MinLength, NoDefault, rule
from setpoint.workload.kinds.kind_model import KindModel
from setpoint.workload.kinds.parts import EnvVars, Flag, Label, Text


@rule(
    "self.type == 'env' || self.?source.orValue('') != ''",
    message="source is required for a secret of type file: the path of the file",
    reason="FieldValueRequired",
    field_path=".source",
)
class BuildSecret(KindModel):
    """A secret that a build can read and that is not stored in the image."""

    type: Literal["file", "env"] = "file"
    """The source of the secret: a file, or an environment variable."""

    id: Annotated[str, MinLength(1)]
    """The id of the secret in the Dockerfile."""

    source: Text = ""
    """The path of the file, or the name of the variable."""

    value: Text = ""
    """The value itself, for type env."""


class Ulimit(KindModel):
    """A limit of the processes in a container or a build."""

    name: Annotated[str, MinLength(1)]
    """The name of the limit, e.g. nofile."""

    soft: Annotated[Int64, Minimum(-1)]
    """The soft limit; -1 is unlimited."""

    hard: Annotated[Int64, Minimum(-1)] | None = None
    """The hard limit; equal to `soft` if absent."""


class ContainerBuild(KindModel):
    """The build of an image."""

    context: Annotated[str, MinLength(1)]
    """The build context: the directory that is sent to the engine."""

    dockerfile: Text = ""
    """The Dockerfile, relative to the context; `Dockerfile` if empty."""

    tags: list[str] = []
    """Additional names of the image."""

    args: EnvVars = []
    """The values of the Dockerfile's ARGs."""

    secrets: list[BuildSecret] = []
    """Secrets that the build can read."""

    stage: Text = ""
    """The target stage; the last one if empty."""

    labels: list[Label] = []
    """Labels of the image."""

    platform: Text = ""
    """The target platform, e.g. linux/arm64."""

    dockerfile_inline: Text = ""
    """The text of the Dockerfile, instead of a file."""

    cache_from: list[str] = []
    """Images whose layers the build may reuse."""

    extra_hosts: list[str] = []
    """Additional host names during the build, as `name:address`."""

    network: Text = ""
    """The network of the build: host, none, or the name of a network in the engine."""

    no_cache: Flag = False
    """Builds all layers anew."""

    pull: Flag = False
    """Pulls newer versions of the base images."""

    shm_size: Annotated[Int64, NoDefault()] = 0
    """The size of /dev/shm during the build, in bytes; the engine's default if 0."""

    ulimits: Annotated[list[Ulimit], ListMap("name")] = []
    """The limits of processes during the build."""
