"""Removes repeated entries of lists: the last entry for a key takes effect, at the position of the first."""

from collections.abc import Callable
from typing import Any

from setpoint.app.compose.gotexts import go_text
from setpoint.app.compose.mount_spec import mount
from setpoint.app.compose.patterns import Pattern, spread, table
from setpoint.app.compose.project import Problem
from setpoint.app.compose.tree import Seq, items_of, path_text

Path = tuple[str | int, ...]
Key = Callable[[Any], str]


def unique(entries: Any, key: Key) -> Seq:
    """Returns the entries with one entry for each key. Raises ValueError if an entry has no key."""
    made = Seq()
    seen: dict[str, int] = {}
    for entry, found in items_of(entries):
        name = key(entry)
        if name in seen:
            made[seen[name]] = entry
            made.places[seen[name]] = found
        else:
            seen[name] = len(made)
            made.add(entry, found)
    return made


def by_name(entry: Any) -> str:
    """Returns the name of a text `NAME=value`."""
    if not isinstance(entry, str):
        raise ValueError("the entry is not a text; write a text in quotes")
    return entry.partition("=")[0]


def _by_target(entry: Any) -> str:
    if isinstance(entry, dict):
        if not isinstance(entry.get("target"), str):
            raise ValueError("the mount has no target; add target")
        return str(entry["target"])
    return str(mount(entry).get("target", "")) if isinstance(entry, str) else ""


def _by_device(entry: Any) -> str:
    if isinstance(entry, dict):
        if not isinstance(entry.get("target"), str):
            raise ValueError("the device has no target; add target")
        return str(entry["target"])
    parts = entry.split(":") if isinstance(entry, str) else [""]
    return parts[0] if len(parts) == 1 else parts[1]


def _by_number(entry: Any) -> str:
    if not isinstance(entry, str | int) or isinstance(entry, bool):
        raise ValueError("the entry is not a port; write a number")
    return str(entry)


def _by_file(directory: str) -> Key:
    def key(entry: Any) -> str:
        if isinstance(entry, dict):
            return str(entry["target"]) if "target" in entry else f"{directory}/{go_text(entry.get('source'))}"
        if not isinstance(entry, str):
            raise ValueError("the entry is not a name; write the name of the secret or config")
        return f"{directory}/{entry}"

    return key


def _by_port(entry: Any) -> str:
    if isinstance(entry, dict):
        if "target" not in entry:
            raise ValueError("the port has no target; add target")
        host, published = entry.get("host_ip", "0.0.0.0"), entry.get("published")
        return f"{host}:{go_text(published)}:{entry['target']}/{entry.get('protocol', 'tcp')}"
    return str(entry) if isinstance(entry, str | int) else ""


def _by_path(entry: Any) -> str:
    if isinstance(entry, dict):
        if "path" not in entry:
            raise ValueError("the entry has no path; add path")
        return str(entry["path"])
    return entry if isinstance(entry, str) else ""


_SERVICE: dict[str, Key] = {
    **dict.fromkeys(
        ["annotations", "build.args", "build.additional_contexts", "build.platform", "build.tags"], by_name
    ),
    **dict.fromkeys(["build.labels", "cap_add", "cap_drop", "deploy.labels", "dns", "dns_opt", "dns_search"], by_name),
    **dict.fromkeys(["environment", "labels", "links", "networks.*.aliases", "networks.*.link_local_ips"], by_name),
    **dict.fromkeys(["profiles", "sysctls", "tmpfs"], by_name),
    "configs": _by_file(""),
    "secrets": _by_file("/run/secrets"),
    "env_file": _by_path,
    "expose": _by_number,
    "ports": _by_port,
    "volumes": _by_target,
    "devices": _by_device,
}
_KEYS: Pattern[Key] = table(
    {**spread(("services.*",), _SERVICE), "networks.*.labels": by_name, "networks.*.ipam.options": by_name}
)


def enforce(tree: Any, problems: list[Problem]) -> None:
    """Removes the repeated entries of all lists of a project, in place."""
    _walk(tree, _KEYS, (), problems)


def _walk(value: Any, keys: Pattern[Key], path: Path, problems: list[Problem]) -> None:
    if not isinstance(value, dict):
        return
    for name, inner in value.items():
        below = keys.key(name)
        if below is None:
            continue
        if isinstance(inner, dict):
            _walk(inner, below, (*path, name), problems)
        elif isinstance(inner, list) and below.value is not None:
            value[name] = _checked(inner, below.value, (*path, name), problems)


def _checked(entries: Any, key: Key, path: Path, problems: list[Problem]) -> Any:
    bad = len(problems)
    for index, (entry, found) in enumerate(items_of(entries)):
        try:
            key(entry)
        except ValueError as error:
            problems.append(Problem(*found, path_text((*path, index)), str(error)))
    return unique(entries, key) if len(problems) == bad else entries
