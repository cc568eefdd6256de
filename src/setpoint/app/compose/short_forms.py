"""Converts the short forms of attributes to their long forms, as Compose does after each file."""

from collections.abc import Callable
from typing import Any

from setpoint.app.compose.gotexts import go_text
from setpoint.app.compose.mount_spec import device, mount
from setpoint.app.compose.patterns import Pattern, spread, table
from setpoint.app.compose.port_spec import ports, referring_port
from setpoint.app.compose.project import Problem
from setpoint.app.compose.scalars import Reference
from setpoint.app.compose.tree import Map, Place, Seq, items_of, path_text, place_of

Path = tuple[str | int, ...]
Form = Callable[[Any, Place], Any]


class _EntriesError(ValueError):
    """The faults of entries of a list: index, place and text."""

    def __init__(self, faults: list[tuple[int, Place, str]]) -> None:
        super().__init__(faults)
        self.faults = faults


def _map(values: dict[str, Any], place: Place) -> Map:
    made = Map()
    for key, value in values.items():
        made.put(key, _map(value, place) if isinstance(value, dict) else value, place)
    return made


def _one_or_many(value: Any, place: Place) -> Any:
    return Seq([value], [place]) if isinstance(value, str) else value


def _names(value: Any, place: Place) -> Any:
    if not isinstance(value, list):
        return value
    made = Map()
    for name, found in items_of(value):
        if not isinstance(name, str):
            raise ValueError("an entry of the list is not a name; write the names in quotes")
        made.put(name, None, found)
    return made


def _env_file(value: Any, place: Place) -> Any:
    made = Seq()
    for entry, found in [(value, place)] if isinstance(value, str) else items_of(value):
        if isinstance(entry, str):
            entry = _map({"path": entry}, found)
        entry.setdefault("required", True)
        made.add(entry, found)
    return made


def _gpus(value: Any, place: Place) -> Any:
    return Seq([_map({"count": "all"}, place)], [place]) if isinstance(value, str) else value


def _mount(value: Any, place: Place) -> Any:
    if not isinstance(value, str):
        return value
    made = mount(value)
    made["target"] = clean(made["target"])
    return _map(made, place)


def clean(path: str) -> str:
    """Returns the shortest form of a path of a container."""
    if not path:
        return "."
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in ("", ".") and not (part == ".." and path.startswith("/")):
            parts.append(part)
    joined = "/".join(parts)
    return f"/{joined}" if path.startswith("/") else joined or "."


def _device(value: Any, place: Place) -> Any:
    return _map(device(value), place) if isinstance(value, str) else value


def _source(value: Any, place: Place) -> Any:
    return _map({"source": value}, place) if isinstance(value, str) else value


def _text(value: Any, place: Place) -> Any:
    return go_text(value)


def _pairs(value: Any, place: Place) -> Any:
    if not isinstance(value, list):
        return value
    made = Map()
    for entry, found in items_of(value):
        name, equals, text = entry.partition("=")
        if not equals:
            raise ValueError(f"{entry!r} has no value; write NAME=value")
        made.put(name, text, found)
    return made


def _depends_on(value: Any, place: Place) -> Any:
    made = _names(value, place)
    for name in made:
        if isinstance(value, list):
            made[name] = _map({}, place)
        made[name].setdefault("condition", "service_started")
        made[name].setdefault("required", True)
    return made


def _extends(value: Any, place: Place) -> Any:
    return _map({"service": value}, place) if isinstance(value, str) else value


def _ports(value: Any, place: Place) -> Any:
    made = Seq()
    faults = []
    for index, (entry, found) in enumerate(items_of(value)):
        if isinstance(entry, dict):
            made.add(entry, found)
            continue
        try:
            if isinstance(entry, Reference):
                made.add(_map(referring_port(entry), found), found)
                continue
            if isinstance(entry, float):
                raise ValueError(f"{entry} is not a port; write a whole number")
            for port in ports(str(entry)):
                made.add(_map(port, found), found)
        except ValueError as error:
            faults.append((index, found, str(error)))
    if faults:
        raise _EntriesError(faults)
    return made


def _build(value: Any, place: Place) -> Any:
    return _map({"context": value}, place) if isinstance(value, str) else value


def _ssh(value: Any, place: Place) -> Any:
    if not isinstance(value, list):
        return value
    made = Map()
    for entry, found in items_of(value):
        name, equals, path = entry.partition("=")
        if not equals and name != "default":
            raise ValueError(f"the key {entry!r} has no path; write NAME=PATH, or default")
        made.put(name, path if equals else None, found)
    return made


def _ulimit(value: Any, place: Place) -> Any:
    if isinstance(value, str) and not isinstance(value, Reference):
        raise ValueError(f"{value!r} is not a whole number; write digits")
    return value


def _schedule(value: Any, place: Place) -> Any:
    return _map({"cron": value}, place) if isinstance(value, str) else value


def _external(value: Any, place: Place) -> Any:
    if not isinstance(value, dict) or not isinstance(value.get("external"), dict):
        return value
    outer = value["external"].get("name")
    if outer is not None and "name" in value and value["name"] != outer:
        raise ValueError("name and external.name differ; use name only")
    value["external"] = True
    if outer is not None:
        value.put("name", outer, place) if isinstance(value, Map) else value.update(name=outer)
    return value


_CONTAINER: dict[str, Form] = {
    "env_file": _env_file,
    "label_file": _one_or_many,
    "gpus": _gpus,
    "networks": _names,
    "models": _names,
    "volumes.*": _mount,
    "dns": _one_or_many,
    "devices.*": _device,
    "secrets.*": _source,
    "configs.*": _source,
    "ulimits.*": _ulimit,
}
_WORKLOAD: dict[str, Form] = {
    "build": _build,
    "build.secrets.*": _source,
    "build.provenance": _text,
    "build.sbom": _text,
    "build.additional_contexts": _pairs,
    "build.ssh": _ssh,
    "build.ulimits.*": _ulimit,
    "depends_on": _depends_on,
    "extends": _extends,
    "ports": _ports,
}
_FORMS: Pattern[Form] = table(
    {
        **spread(("services.*", "jobs.*", "services.*.pre_start.*"), _CONTAINER),
        **spread(("services.*", "jobs.*"), _WORKLOAD),
        "jobs.*.triggers.schedule.*": _schedule,
        "services.*.develop.watch.*.ignore": _one_or_many,
        "services.*.develop.watch.*.include": _one_or_many,
        **{f"{kind}.*": _external for kind in ("volumes", "networks", "secrets", "configs")},
    }
)


class LongForms:
    """Converts trees in place, and collects the problems."""

    def __init__(self, problems: list[Problem]) -> None:
        self._problems = problems

    def convert(self, tree: Any) -> None:
        """Converts the short forms of a tree."""
        self._children(tree, _FORMS, ())

    def _children(self, value: Any, forms: Pattern[Form], path: Path) -> None:
        if isinstance(value, dict):
            for key in list(value):
                below = forms.key(key)
                if below is not None:
                    value[key] = self._value(value[key], below, (*path, key), place_of(value, key))
        elif isinstance(value, list):
            below = forms.index()
            if below is not None:
                for index, inner in enumerate(value):
                    value[index] = self._value(inner, below, (*path, index), place_of(value, index))

    def _value(self, value: Any, forms: Pattern[Form], path: Path, place: Place) -> Any:
        if forms.value is not None and value is not None:
            try:
                value = forms.value(value, place)
            except _EntriesError as entries:
                self._problems += [Problem(*at, path_text((*path, i)), text) for i, at, text in entries.faults]
            except ValueError as error:
                self._problems.append(Problem(*place, path_text(path), str(error)))
            except (TypeError, AttributeError):
                text = "the value has the wrong form; use a form of the Compose specification"
                self._problems.append(Problem(*place, path_text(path), text))
        self._children(value, forms, path)
        return value
