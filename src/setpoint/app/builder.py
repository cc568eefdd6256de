"""Builds an app in Python: with the same model and checks as the app file, and convertible to YAML.

app = sp.App("shop")
db = app.service("db", image="postgres:16", ports={"main": 5432}, ready="tcp")
app.service("api", run="uvicorn shop:app --port ${port.http}", ports={"http": "auto"},
            env={"DATABASE": f"postgres://{db.host}:{db.port}/shop"}, after=db)
print(app.to_yaml())
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from setpoint.app import profiles
from setpoint.app.model import AppFile, Controller, Network, Secret, Service, Task, Volume
from setpoint.app.parts import Part
from setpoint.app.yaml_output import app_yaml
from setpoint.objects import typedyaml
from setpoint.objects.tree import Object
from setpoint.objects.typedyaml import path_text

P = TypeVar("P", bound=Part)


class Reach:
    """References to the address of a service, at one of its ports."""

    def __init__(self, name: str, port: str = "") -> None:
        self.name = name
        self._port = f".{port}" if port else ""

    def __str__(self) -> str:
        return self.name

    @property
    def host(self) -> str:
        """A reference to the host, as used in a URL."""
        return self._reference("host")

    @property
    def address(self) -> str:
        """A reference to the address."""
        return self._reference("address")

    @property
    def port(self) -> str:
        """A reference to the port."""
        return self._reference("port")

    @property
    def url(self) -> str:
        """A reference to the URL."""
        return self._reference("url")

    def _reference(self, field: str) -> str:
        return f"${{services.{self.name}.{field}{self._port}}}"


class ServiceHandle(Reach):
    """A service of an app under construction, for references and `after`."""

    def at(self, port: str) -> Reach:
        """Returns references for one of several ports."""
        return Reach(self.name, port)

    def env(self, variable: str) -> str:
        """Returns a reference to a variable of the service."""
        return f"${{services.{self.name}.env.{variable}}}"


class TaskHandle:
    """A task of an app under construction."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name


class App:
    """An app under construction. The fields have the names and forms of the app file; `after` also accepts handles."""

    def __init__(self, name: str, **fields: Any) -> None:
        self._file = _made(AppFile, {"app": name, **fields}, ())

    @classmethod
    def of(cls, file: AppFile) -> "App":
        """Returns an app that was read from a file."""
        app = cls(file.app)
        app._file = file
        return app

    @property
    def file(self) -> AppFile:
        """The current model of the app."""
        return self._file

    def service(self, name: str, **fields: Any) -> ServiceHandle:
        """Adds or replaces a service. Raises Mistakes."""
        self._put("services", name, _made(Service, fields, ("services", name)))
        return ServiceHandle(name)

    def task(self, name: str, **fields: Any) -> TaskHandle:
        """Adds or replaces a task. Raises Mistakes."""
        self._put("tasks", name, _made(Task, fields, ("tasks", name)))
        return TaskHandle(name)

    def secret(self, name: str, **fields: Any) -> str:
        """Returns a reference to a secret. With fields, also declares the source of the secret. Raises Mistakes."""
        if fields:
            self._put("secrets", name, _made(Secret, fields, ("secrets", name)))
        return f"${{secret.{name}}}"

    def volume(self, name: str, **fields: Any) -> str:
        """Adds a volume, and returns its name. Raises Mistakes."""
        self._put("volumes", name, _made(Volume, fields, ("volumes", name)))
        return name

    def network(self, name: str, **fields: Any) -> str:
        """Adds a network, and returns its name. Raises Mistakes."""
        self._put("networks", name, _made(Network, fields, ("networks", name)))
        return name

    def controller(self, module: str, name: str = "") -> None:
        """Adds the controllers of a module."""
        added = Controller(module=module, name=name) if name else module
        self._file = msgspec.structs.replace(self._file, controllers=(*self._file.controllers, added))

    def profile(self, name: str, **choices: bool | Mapping[str, Any]) -> None:
        """Adds a profile: services and tasks by name (with _ for -) that are turned off, turned on, or changed."""
        known = {each.replace("-", "_"): each for each in (*self._file.services, *self._file.tasks)}
        made = {known.get(each, each): _plain(choice) for each, choice in choices.items()}
        self._put("profiles", name, made)

    def to_yaml(self) -> str:
        """Returns the app as the text of an app file."""
        return app_yaml(self._file)

    def render(
        self,
        directory: str | Path = ".",
        *,
        profiles: tuple[str, ...] = (),
        environ: Mapping[str, str] | None = None,
        session: str = "",
    ) -> list[Object]:
        """Returns the objects of the app, with paths relative to a directory. Raises Mistakes."""
        return rendered(self._file, Path(directory), profiles, os.environ if environ is None else environ, session)

    def _put(self, section: str, name: str, value: Any) -> None:
        self._file = msgspec.structs.replace(self._file, **{section: {**getattr(self._file, section), name: value}})


def rendered(
    file: AppFile, directory: Path, chosen: tuple[str, ...], environ: Mapping[str, str], session: str = ""
) -> list[Object]:
    """Returns the objects of an app that was not read from a file. Raises Mistakes."""
    # Imported here: rendering imports all workload kinds, which code that only builds an app does not need.
    from setpoint.app.environment import read_environment
    from setpoint.app.render import render

    app = profiles.selected(file, chosen)
    return render(app, read_environment(app, directory.absolute(), environ, session))


def _made(kind: type[P], fields: Mapping[str, Any], path: typedyaml.Path) -> P:
    return typedyaml.convert(_plain(dict(fields)), kind, lambda inner: path_text(path))


def _plain(value: Any) -> Any:
    """Converts a Python value to its YAML form."""
    if isinstance(value, Part):
        return profiles.tree_of(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, Reach | TaskHandle | Path):
        return str(value)
    return value
