"""Converts a resolved Compose project to the content of an app file."""

import os.path
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from setpoint.app.compose.project import Project
from setpoint.app.foreign_fields import Fields, Notes, as_reference, several, without_empty
from setpoint.app.from_compose.container_parts import relative
from setpoint.app.from_compose.names import Names, clashes
from setpoint.app.from_compose.places import place
from setpoint.app.from_compose.service import Surroundings, service
from setpoint.app.from_compose.unsupported import SERVICE, TOP_LEVEL
from setpoint.app.reader import app_name
from setpoint.app.references import written
from setpoint.objects.tree import Object
from setpoint.objects.typedyaml import Mistake, Mistakes, path_text

_PROJECT, _VOLUME, _NETWORK = (f"com.docker.compose.{each}" for each in ("project", "volume", "network"))


class Converted(NamedTuple):
    """The content of an app file, and the settings of the project without an effect."""

    tree: Object
    notes: list[Mistake]


def convert(project: Project, directory: str, *, references: bool = False) -> Converted:
    """Converts a project. With `references`, the result is for an app file: paths are relative to the directory, and
    texts refer to variables; otherwise resources have the names that Compose gives them. Raises Mistakes."""
    return _Conversion(project, directory, references).converted()


class _Conversion:
    """The conversion of one project."""

    def __init__(self, project: Project, directory: str, references: bool) -> None:
        self._project, self._directory, self._references = project, directory, references
        self._notes = Notes(partial(place, project))
        self._names = Names(project.name, fixed=not references)
        self._text: Callable[[str], str] = as_reference if references else written

    def converted(self) -> Converted:
        found = [
            Mistake(
                self._notes.place((section, name)), path_text((section, name)), f"too similar to {other}; rename one"
            )
            for section, name, other in clashes(self._project)
        ]
        if found:
            raise Mistakes(found)
        around = Surroundings(self._names, self._shown, self._file_of, self._build_secret)
        every = {**self._project.services, **(self._project.disabled if self._references else {})}
        tree: Object = {"app": app_name(self._project.name)}
        left_out = {name for name, fields in every.items() if fields.get("provider")}
        for name in sorted(left_out):
            self._notes.add(("services", name, "provider"), SERVICE["provider"])
        tree["services"] = {
            app_name(name): self._service(name, fields, left_out, around)
            for name, fields in every.items()
            if name not in left_out
        }
        for section, made in (("volumes", self._volume), ("networks", self._network)):
            given = getattr(self._project, section)
            tree[section] = {app_name(name): made(name, fields) or None for name, fields in given.items()}
        tree["secrets"] = self._secrets()
        for section in TOP_LEVEL:
            for name in getattr(self._project, section):
                self._notes.add((section, name), TOP_LEVEL[section])
        return Converted({name: value for name, value in tree.items() if value}, self._notes.found)

    def _service(self, name: str, tree: Object, left_out: set[str], around: Surroundings) -> Object:
        made = service(name, self._fields(tree, "services", name), around)
        if after := made.get("after"):
            kept = {other: how for other, how in after.items() if other not in map(app_name, left_out)}
            made = {**made, "after": kept} if kept else {key: each for key, each in made.items() if key != "after"}
        return made

    def _fields(self, tree: Any, *path: str) -> Fields:
        return Fields(tree, path, self._notes, self._text)

    def _shown(self, path: str) -> str:
        """Returns a path of this machine for the app."""
        found = self._text(path)
        return relative(self._directory, found) if self._references else found

    def _volume(self, name: str, tree: Any) -> Object:
        fields = self._fields(tree, "volumes", name)
        external = bool(fields.take("external"))
        given = fields.take("name", "")
        labels = fields.map("labels")
        if self._names.fixed and not external:
            labels = {_PROJECT: self._project.name, _VOLUME: name, **labels}
        made = without_empty(
            {
                "name": self._engine_name(name, given, external),
                "driver": fields.text("driver"),
                "driver_opts": fields.map("driver_opts"),
                "labels": labels,
            }
        )
        fields.report_rest()
        return {**made, "external": True} if external else {**made, "keep": True}

    def _network(self, name: str, tree: Any) -> Object:
        fields = self._fields(tree, "networks", name)
        external = bool(fields.take("external"))
        given = fields.take("name", "")
        labels = fields.map("labels")
        if self._names.fixed and not external:
            labels = {_PROJECT: self._project.name, _NETWORK: name, **labels}
        ipam = fields.inner("ipam")
        pools = [self._pool(ipam.at(each, "config", index)) for index, each in enumerate(several(ipam.take("config")))]
        assignment = {"driver": ipam.text("driver"), "options": ipam.map("options"), "config": pools}
        ipam.report_rest()
        made = without_empty(
            {
                "name": self._engine_name(name, given, external),
                "external": external or None,
                "driver": fields.text("driver"),
                "driver_opts": fields.map("driver_opts"),
                "internal": fields.take("internal") or None,
                "attachable": fields.take("attachable") or None,
                "ipv6": fields.take("enable_ipv6") or None,
                "labels": labels,
                "ipam": without_empty(assignment),
            }
        )
        if fields.take("enable_ipv4") is False:
            fields.note("enable_ipv4", "networks always have IPv4 addresses")
        fields.report_rest()
        return made

    @staticmethod
    def _pool(pool: Fields) -> Object:
        made = {
            "subnet": pool.text("subnet"),
            "gateway": pool.text("gateway"),
            "ip_range": pool.text("ip_range"),
            "aux_addresses": pool.map("aux_addresses"),
        }
        pool.report_rest()
        return without_empty(made)

    def _engine_name(self, name: str, given: str, external: bool) -> str:
        if external:
            return given or name
        # The resolver sets the names that Compose chooses; an app file needs none of them.
        if self._references and given == f"{self._project.name}_{name}":
            return ""
        return self._names.resource(name, given)

    # Secrets and configs

    def _secrets(self) -> Object:
        found: Object = {}
        for name, tree in self._project.secrets.items():
            fields = self._fields(tree, "secrets", name)
            made = {"environment": fields.text("environment")}
            file = fields.take("file")
            if file and self._references:
                made["file"] = self._shown(file)
            fields.take("name")
            if fields.take("external"):
                fields.note("external", "secrets of Docker Swarm are not supported; use file or environment")
            fields.report_rest()
            if kept := without_empty(made):
                found[app_name(name)] = kept
        for name, tree in self._project.configs.items():
            fields = self._fields(tree, "configs", name)
            for word in ("file", "content", "environment", "name"):
                fields.take(word)
            if fields.take("external"):
                fields.note("external", "configs of Docker Swarm are not supported; use file, content or environment")
            fields.report_rest()
        return found

    def _file_of(self, section: str, entry: Fields) -> tuple[str, Object] | None:
        """Returns a secret or config as a mount of a file, or as a file that is written."""
        source = entry.take("source", "")
        target = entry.text("target")
        below = "/run/secrets" if section == "secrets" else ""
        target = os.path.join(below or "/", target or source)
        mode = entry.take("mode")
        owner = {"uid": entry.take("uid"), "gid": entry.take("gid"), "mode": _mode(mode)}
        known = getattr(self._project, section).get(source)
        if known is None:
            entry.notes.add(entry.path, f"{source} is not defined under the top-level {section}; left out")
            return None
        if known.get("external"):
            return None
        if known.get("file"):
            for word in ("uid", "gid", "mode"):
                if owner[word] is not None:
                    entry.note(word, "the owner and permissions of a file of this machine are not changed")
            mount = {"source": self._shown(known["file"]), "target": target, "read_only": True, "create": False}
            return "mount", mount
        made: Object = {"target": target, **without_empty(owner)}
        if section == "secrets":
            return "file", {**made, "secret": app_name(source)}
        if known.get("environment"):
            name = known["environment"]
            value = f"${{env.{name}:-}}" if self._references else written(self._project.environment.get(name, ""))
            return "file", {**made, "content": value}
        return "file", {**made, "content": self._text(known.get("content") or "")}

    def _build_secret(self, build: Fields, value: Any) -> Object | None:
        entry = build.at(value if isinstance(value, dict) else {"source": value}, "secrets")
        source = entry.take("source", "")
        name = entry.text("target") or source
        for word in ("uid", "gid", "mode"):
            if entry.take(word) is not None:
                entry.note(word, "a secret of a build is readable by all its commands")
        known = self._project.secrets.get(source) or {}
        if known.get("file"):
            return {"id": name, "file": self._shown(known["file"])}
        if known.get("environment"):
            return {"id": name, "environment": known["environment"]}
        entry.notes.add(entry.path, f"the secret {source} has no file or environment; left out")
        return None


def _mode(value: Any) -> str | None:
    if value is None:
        return None
    return f"0{value:o}" if isinstance(value, int) else str(value)
