"""An app file in Python: the same model, the same mistakes, and YAML whenever it is wanted.

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
    """References to where a service is reached, by one of its ports."""

    def __init__(self, name: str, port: str = "") -> None:
        self.name = name
        self._port = f".{port}" if port else ""

    def __str__(self) -> str:
        return self.name

    @property
    def host(self) -> str:
        """The host, as it stands in a URL."""
        return self._reference("host")

    @property
    def address(self) -> str:
        """The address."""
        return self._reference("address")

    @property
    def port(self) -> str:
        """The port."""
        return self._reference("port")

    @property
    def url(self) -> str:
        """The URL."""
        return self._reference("url")

    def _reference(self, what: str) -> str:
        return f"${{services.{self.name}.{what}{self._port}}}"


class ServiceHandle(Reach):
    """A service of an app that is being built: what others refer to, and come after."""

    def at(self, port: str) -> Reach:
        """The same by one port of several."""
        return Reach(self.name, port)

    def env(self, variable: str) -> str:
        """A reference to one of its variables."""
        return f"${{services.{self.name}.env.{variable}}}"


class TaskHandle:
    """A task of an app that is being built."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name


class App:
    """An app that is being built. The fields have the names and forms of the file; `after` takes handles, too."""

    def __init__(self, name: str, **fields: Any) -> None:
        self._file = _made(AppFile, {"app": name, **fields}, ())

    @classmethod
    def of(cls, file: AppFile) -> "App":
        """An app that was read from a file."""
        app = cls(file.app)
        app._file = file
        return app

    @property
    def file(self) -> AppFile:
        """What the app says by now."""
        return self._file

    def service(self, name: str, **fields: Any) -> ServiceHandle:
        """Adds a service, or replaces the one of that name. Raises Mistakes."""
        self._put("services", name, _made(Service, fields, ("services", name)))
        return ServiceHandle(name)

    def task(self, name: str, **fields: Any) -> TaskHandle:
        """Adds a task, or replaces the one of that name. Raises Mistakes."""
        self._put("tasks", name, _made(Task, fields, ("tasks", name)))
        return TaskHandle(name)

    def secret(self, name: str, **fields: Any) -> str:
        """A reference to a secret; with fields, it says where that comes from. Raises Mistakes."""
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
        """Adds controllers of a module."""
        added = Controller(module=module, name=name) if name else module
        self._file = msgspec.structs.replace(self._file, controllers=(*self._file.controllers, added))

    def profile(self, name: str, **choices: bool | Mapping[str, Any]) -> None:
        """Adds a variant: services and tasks by name (with _ for -) that are off, on, or different."""
        known = {each.replace("-", "_"): each for each in (*self._file.services, *self._file.tasks)}
        made = {known.get(each, each): _plain(choice) for each, choice in choices.items()}
        self._put("profiles", name, made)

    def to_yaml(self) -> str:
        """The app file that says the same."""
        return app_yaml(self._file)

    def render(
        self,
        directory: str | Path = ".",
        *,
        profiles: tuple[str, ...] = (),
        environ: Mapping[str, str] | None = None,
        session: str = "",
    ) -> list[Object]:
        """The objects that the app becomes, seen from a directory. Raises Mistakes."""
        return rendered(self._file, Path(directory), profiles, os.environ if environ is None else environ, session)

    def _put(self, section: str, name: str, value: Any) -> None:
        self._file = msgspec.structs.replace(self._file, **{section: {**getattr(self._file, section), name: value}})


def rendered(
    file: AppFile, directory: Path, chosen: tuple[str, ...], environ: Mapping[str, str], session: str = ""
) -> list[Object]:
    """The objects of an app that was not read from a file. Raises Mistakes."""
    # Rendering knows all workload kinds, which whoever only builds a file need not wait for.
    from setpoint.app.render import render
    from setpoint.app.surroundings import look_around

    app = profiles.selected(file, chosen)
    return render(app, look_around(app, directory.absolute(), environ, session))


def _made(kind: type[P], fields: Mapping[str, Any], path: typedyaml.Path) -> P:
    return typedyaml.convert(_plain(dict(fields)), kind, lambda inner: path_text(path))


def _plain(value: Any) -> Any:
    """A value of Python as YAML has it."""
    if isinstance(value, Part):
        return profiles.tree_of(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, Reach | TaskHandle | Path):
        return str(value)
    return value
