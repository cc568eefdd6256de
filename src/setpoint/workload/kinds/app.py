"""App: what an app file says of itself, so that its session, and everybody who asks, knows what belongs together."""

from typing import Annotated

from setpoint.schema.types import Column, Model, NoDefault, Resource
from setpoint.workload.kinds.api_names import OWN_GROUP, VERSION
from setpoint.workload.kinds.parts import AGE, Text

Names = Annotated[list[str], NoDefault()]


class HostedController(Model):
    """A program of controllers that runs with the app."""

    module: str
    """A file of Python, relative to the directory, or the name of a module."""

    name: Text = ""
    """Which of the controllers in it; all of them when empty."""


class AppSpec(Model):
    """What an app is made of."""

    directory: Text = ""
    """Where its file is, and its paths begin."""

    services: Names = []
    """Its services, in the order of the file."""

    tasks: Names = []
    """Its tasks, in the order of the file."""

    controllers: Annotated[list[HostedController], NoDefault()] = []
    """The controllers that run with it."""


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
    """What it is made of."""
