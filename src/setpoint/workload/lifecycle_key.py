"""Lifecycle keys: they tell if a process or container of an earlier session still matches the spec.

A key is a hash over named parts; the hash of each part is stored too, so that the differing parts can be reported.
Empty parts are omitted, so that a new field of a kind does not change the keys of objects without that field. Unlike
DCP's key, the key of a container covers everything that the container was created with, including command and
arguments; fields that can change at run time (networks) or that only affect the creation (pullPolicy) are excluded.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Object

_encode = msgspec.json.Encoder(order="sorted").encode

# Fields that a container is created with, in addition to its image, environment, arguments and files.
_CONTAINER_FIELDS = (
    "capAdd",
    "capDrop",
    "command",
    "devices",
    "extraHosts",
    "healthcheck",
    "labels",
    "ports",
    "privileged",
    "resources",
    "restartPolicy",
    "runArgs",
    "stopSignal",
    "tmpfs",
    "ulimits",
    "user",
    "volumeMounts",
    "workingDirectory",
)
_ORDERED_BY = {"volumeMounts": "target", "labels": "key", "ports": "containerPort", "ulimits": "name"}

ReadFile = Callable[[str], bytes | None]


class LifecycleKey(NamedTuple):
    """A key, and the hashes of its parts by name; a key from the spec has no parts."""

    key: str
    parts: Mapping[str, str]


def executable_key(spec: Object, args: Sequence[str], env: Mapping[str, str]) -> LifecycleKey:
    """Returns the key of an Executable: `args` are its rendered arguments, `env` the variables of the spec and its
    files."""
    if given := spec.get("lifecycleKey"):
        return LifecycleKey(given, {})
    parts: dict[str, Any] = {
        "executablePath": spec.get("executablePath"),
        "workingDirectory": spec.get("workingDirectory"),
        "executionType": spec.get("executionType", "Process"),
        "ambientEnvironment": (spec.get("ambientEnvironment") or {}).get("behavior", "Inherit"),
        "args": list(args),
        "pemCertificates": _certificates(spec),
        **_common(spec, env),
    }
    return _key(parts)


def container_key(spec: Object, args: Sequence[str], env: Mapping[str, str], read: ReadFile) -> LifecycleKey:
    """Returns the key of a Container. `args` and `env` are as for an Executable; `read` returns the contents of a file
    of this machine, or None if missing: the contents of files count, not only their names."""
    if given := spec.get("lifecycleKey"):
        return LifecycleKey(given, {})
    parts: dict[str, Any] = {
        "args": list(args),
        "pemCertificates": _certificates(spec),
        "imageLayers": [each["digest"] for each in spec.get("imageLayers") or ()],
        "createFiles": [_with_contents(each, read) for each in spec.get("createFiles") or ()],
        **_common(spec, env),
    }
    for field in _CONTAINER_FIELDS:
        value = thaw(spec.get(field))
        parts[field] = sorted(value, key=_by(field)) if field in _ORDERED_BY and value else value
    if build := spec.get("build"):
        parts |= _built(build, read)
    else:
        parts["image"] = spec.get("image")
    return _key(parts)


def difference(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Returns the names of the parts in which two keys differ, e.g. `args`, `env.PORT`, `image`."""
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


def _common(spec: Object, env: Mapping[str, str]) -> dict[str, Any]:
    terminal = spec.get("terminal")
    parts: dict[str, Any] = {f"env.{name}": ["", value] for name, value in env.items()}
    parts["monitor"] = [spec[key] for key in ("monitorPid", "monitorTimestamp") if key in spec]
    if terminal is not None:
        # The size is excluded, because the size may change at any time.
        parts["terminal"] = [terminal.get("udsPath", ""), terminal.get("socketMode", "listen")]
    return parts


def _certificates(spec: Object) -> Any:
    found = thaw(spec.get("pemCertificates"))
    if not found:
        return None
    ordered = sorted(found.get("certificates") or (), key=lambda each: str(each["thumbprint"]))
    paths = sorted(found.get("overwriteBundlePaths") or ())
    return {**found, "certificates": ordered} | ({"overwriteBundlePaths": paths} if paths else {})


def _built(build: Object, read: ReadFile) -> dict[str, Any]:
    """Returns the parts of a build, without the files of its context, which are too many."""
    context, dockerfile = build.get("context", ""), build.get("dockerfile") or "Dockerfile"
    path = dockerfile if dockerfile.startswith("/") else f"{context.rstrip('/')}/{dockerfile}"
    parts: dict[str, Any] = {f"build.{field}": thaw(build.get(field)) for field in ("context", "stage", "platform")}
    for field, key in (("labels", "key"), ("args", "name")):
        parts[f"build.{field}"] = sorted(thaw(build.get(field)) or (), key=lambda each, key=key: str(each[key]))
    secrets = sorted(thaw(build.get("secrets")) or (), key=lambda each: str(each["id"]))
    for secret in secrets:
        if secret.get("type", "file") == "file":
            secret["contents"] = _digest(read(secret.get("source", "")) or b"")
    return parts | {"build.secrets": secrets, "build.dockerfile": _digest(read(path) or path.encode())}


def _with_contents(files: Object, read: ReadFile) -> Object:
    """Returns the files to write into a container, with hashes of their sources."""
    return {**thaw(files), "entries": [_entry(each, read) for each in files.get("entries") or ()]}


def _entry(entry: Object, read: ReadFile) -> Object:
    found: Object = thaw(entry)
    if source := entry.get("source"):
        found["sourceContents"] = _digest(read(source) or b"")
    if entries := entry.get("entries"):
        found["entries"] = [_entry(each, read) for each in entries]
    return found


def _by(field: str) -> Callable[[Object], tuple[str, str]]:
    key = _ORDERED_BY[field]
    return lambda each: (str(each.get(key, "")), str(each.get("protocol", "")))


def _key(parts: Mapping[str, Any]) -> LifecycleKey:
    digests = {name: _digest(_encode(value)) for name, value in sorted(parts.items()) if value not in _NOTHING}
    return LifecycleKey(_digest(_encode(digests)), digests)


_NOTHING: Iterable[Any] = (None, "", [], {}, False)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
