"""The build of a Container's image."""

from typing import Annotated, Literal

from setpoint.schema.types import MinLength, rule
from setpoint.workload.kinds.kind_model import KindModel
from setpoint.workload.kinds.parts import EnvVars, Label, Text


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
