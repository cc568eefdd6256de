"""How the image of a Container is built."""

from typing import Annotated, Literal

from setpoint.schema.types import MinLength, Model, rule
from setpoint.workload.kinds.parts import EnvVars, Label, Text


@rule(
    "self.type == 'env' || self.?source.orValue('') != ''",
    message="source is required for a secret of type file: it is the path of the file",
    reason="FieldValueRequired",
    field_path=".source",
)
class BuildSecret(Model):
    """A secret that a build can read and that does not stay in the image."""

    type: Literal["file", "env"] = "file"
    """Where it comes from: a file, or an environment variable."""

    id: Annotated[str, MinLength(1)]
    """The name by which the Dockerfile asks for it."""

    source: Text = ""
    """The path of the file, or the name of the variable."""

    value: Text = ""
    """The value itself, for type env."""


class ContainerBuild(Model):
    """How to build an image."""

    context: Annotated[str, MinLength(1)]
    """The directory that is sent to the engine."""

    dockerfile: Text = ""
    """The Dockerfile, relative to the context; `Dockerfile` when empty."""

    tags: list[str] = []
    """Further names of the image."""

    args: EnvVars = []
    """Values of the ARGs of the Dockerfile."""

    secrets: list[BuildSecret] = []
    """Secrets that it can read."""

    stage: Text = ""
    """The stage at which to stop; the last one when empty."""

    labels: list[Label] = []
    """Labels of the image."""

    platform: Text = ""
    """The platform to build for, such as linux/arm64."""
