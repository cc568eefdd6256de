"""Parses the values of `docker create` flags: sizes, devices, mounts, limits. No I/O."""

import csv
import re
from typing import Any

_SIZE = re.compile(r"^(\d+(?:\.\d+)?) ?([bkmgt])?i?b?$", re.IGNORECASE)
_UNITS = {"b": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_TRUE, _FALSE = ("", "1", "t", "true", "TRUE", "True"), ("0", "f", "false", "FALSE", "False")
# The options of a mount with a text, by the field and the inner field of the request.
_MOUNT_TEXTS = {
    "type": ("Type", ""),
    "source": ("Source", ""),
    "src": ("Source", ""),
    "target": ("Target", ""),
    "destination": ("Target", ""),
    "dst": ("Target", ""),
    "consistency": ("Consistency", ""),
    "bind-propagation": ("BindOptions", "Propagation"),
    "volume-subpath": ("VolumeOptions", "Subpath"),
    "image-subpath": ("ImageOptions", "Subpath"),
}
_MOUNT_SWITCHES = {
    "readonly": ("ReadOnly", ""),
    "ro": ("ReadOnly", ""),
    "volume-nocopy": ("VolumeOptions", "NoCopy"),
    "bind-create-src": ("BindOptions", "CreateMountpoint"),
}


def truth(text: str) -> bool:
    """Parses the value of a switch; an empty value is true. Raises ValueError."""
    if text not in (*_TRUE, *_FALSE):
        raise ValueError("expected true or false")
    return text in _TRUE


def size(text: str) -> int:
    """Parses a size in Docker's notation, e.g. `512m` or `1.5g`. Returns bytes. Raises ValueError."""
    found = _SIZE.match(text)
    if found is None:
        raise ValueError("expected a size, e.g. 512m or 2g")
    return int(float(found[1]) * 1024 ** _UNITS[(found[2] or "b").lower()])


def device(text: str) -> dict[str, str]:
    """Parses a device: `host[:container[:permissions]]`."""
    host, *rest = text.split(":")
    if len(rest) == 1 and rest[0] and set(rest[0]) <= set("rwm"):
        rest = [host, rest[0]]
    inside = rest[0] if rest and rest[0] else host
    permissions = rest[1] if len(rest) > 1 else "rwm"
    return {"PathOnHost": host, "PathInContainer": inside, "CgroupPermissions": permissions}


def mount(text: str) -> dict[str, Any]:
    """Parses a mount: fields and options, separated by commas; a value with a comma is quoted. Raises ValueError."""
    made: dict[str, Any] = {"Type": "volume"}
    for part in _fields(text):
        name, _, value = part.partition("=")
        if name in _MOUNT_TEXTS:
            _put(made, *_MOUNT_TEXTS[name], value)
        elif name in _MOUNT_SWITCHES:
            _put(made, *_MOUNT_SWITCHES[name], truth(value))
        elif name == "tmpfs-size":
            _put(made, "TmpfsOptions", "SizeBytes", size(value))
        elif name == "tmpfs-mode":
            _put(made, "TmpfsOptions", "Mode", int(value, 8))
        elif name == "volume-label":
            key, _, label = value.partition("=")
            made.setdefault("VolumeOptions", {}).setdefault("Labels", {})[key] = label
        else:
            raise ValueError(f"unsupported option {name}")
    if not made.get("Target"):
        raise ValueError("a target is required")
    return made


def _put(made: dict[str, Any], field: str, inner: str, value: Any) -> None:
    if inner:
        made.setdefault(field, {})[inner] = value
    else:
        made[field] = value


def _fields(text: str) -> list[str]:
    return next(csv.reader([text]), [])


def ulimit(text: str) -> dict[str, Any]:
    """Parses a limit: `name=soft[:hard]`. Raises ValueError."""
    name, _, limits = text.partition("=")
    soft, _, hard = limits.partition(":")
    return {"Name": name, "Soft": int(soft), "Hard": int(hard or soft)}


def gpus(text: str) -> dict[str, Any]:
    """Parses a request for devices: `all`, a number, or fields in Docker's notation, such as
    `driver=nvidia,count=1,"capabilities=gpu,utility"`. Raises ValueError."""
    made: dict[str, Any] = {"Driver": "", "Capabilities": [["gpu"]]}
    if text.strip('"').startswith("device="):
        return {**made, "DeviceIDs": text.strip('"').removeprefix("device=").split(",")}
    for part in _fields(text):
        name, equals, value = part.partition("=")
        if not equals:
            name, value = "count", part
        if name == "count":
            made["Count"] = -1 if value == "all" else int(value)
        elif name == "device":
            made["DeviceIDs"] = value.split(",")
        elif name == "driver":
            made["Driver"] = value
        elif name == "capabilities":
            made["Capabilities"] = [value.split(",")]
        elif name == "options":
            made["Options"] = dict(each.partition("=")[::2] for each in value.split(","))
        else:
            raise ValueError(f"unsupported field {name}")
    return made


def throttle(text: str) -> dict[str, Any]:
    """Parses the limit of a device: `path:rate`. Raises ValueError."""
    path, _, rate = text.rpartition(":")
    return {"Path": path, "Rate": size(rate)}


def weight(text: str) -> dict[str, Any]:
    """Parses the weight of a device: `path:weight`. Raises ValueError."""
    path, _, number = text.rpartition(":")
    return {"Path": path, "Weight": int(number)}
