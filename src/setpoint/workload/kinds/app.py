"""App: the services and tasks of an app file, so that its session and its clients know the objects of an app."""

from typing import Annotated

from setpoint.schema.types import Column, NoDefault, Resource
from setpoint.workload.kinds.api_names import OWN_GROUP, VERSION
from setpoint.workload.kinds.kind_model import KindModel
from setpoint.workload.kinds.parts import AGE, Text

Names = Annotated[list[str], NoDefault()]


class HostedController(KindModel):
    """A program of controllers that runs with the app."""

    module: str
    """A Python file, relative to the directory, or the name of a module."""

    name: Text = ""
    """The name of the controller in the module; all controllers if empty."""


class AppSpec(KindModel):
    """The parts of an app."""

    directory: Text = ""
    """The directory of the app file, and the base of its relative paths."""

    services: Names = []
    """Its services, in the order of the file."""

    tasks: Names = []
    """Its tasks, in the order of the file."""

    controllers: Annotated[list[HostedController], NoDefault()] = []
    """The controllers that run with the app."""


class App(
    Resource,
    group=OWN_GROUP,
    version=VERSION,
    scope="Cluster",
    columns=[
        Column("Directory", ".spec.directory"),
        AGE,
    ],
):
    """An app that was read from a file."""

    spec: AppSpec
    """The parts of the app."""
