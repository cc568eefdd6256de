"""Parses the short forms of mounts and devices: `./data:/data:ro,z`, `cache:/cache`, `/dev/sda:/dev/xvda:rwm`."""

from typing import Any

_BIND_OPTIONS = {
    **dict.fromkeys(["rprivate", "private", "rshared", "shared", "rslave", "slave"], "propagation"),
    **dict.fromkeys(["z", "Z"], "selinux"),
}


def mount(spec: str) -> dict[str, Any]:
    """Returns the long form of a mount. Raises ValueError."""
    if not spec:
        raise ValueError("the mount is empty; write SOURCE:TARGET")
    if len(spec.encode()) <= 2:
        return {"type": "volume", "target": spec}
    made: dict[str, Any] = {"source": "", "target": "", "read_only": False}
    sections = split(spec, drives=True)
    for index, section in enumerate(sections):
        is_last = index == len(sections) - 1
        if not section:
            raise ValueError(f"the mount {spec!r} has an empty part; write SOURCE:TARGET:OPTIONS")
        if not made["source"] and is_last:
            made["target"] = section
        elif not made["source"]:
            made["source"] = section
        elif not made["target"]:
            made["target"] = section
        elif not is_last:
            raise ValueError(f"the mount {spec!r} has too many colons; write SOURCE:TARGET:OPTIONS")
        else:
            _options(section, made)
    if is_path(made["source"]):
        made["type"] = "bind"
        made.setdefault("bind", {})["create_host_path"] = True
    else:
        made["type"] = "volume"
        made.setdefault("volume", {})
    return {key: value for key, value in made.items() if value or key in ("bind", "volume")}


def is_path(source: str) -> bool:
    """Returns True if the source of a mount is a path, and not the name of a volume."""
    if source.startswith("${"):
        # The default value decides; a reference without one is most often a path.
        default = source.partition(":-")[2]
        return is_path(default) if default and not default.startswith("${") else True
    return source.startswith((".", "/", "~", "\\\\")) or (source[1:2] == ":" and source[0].isalpha())


def device(spec: str) -> dict[str, Any]:
    """Returns the long form of a device. Raises ValueError."""
    parts = split(spec)
    if len(parts) > 3:
        raise ValueError(f"the device {spec!r} has too many colons; write source, target and permissions as keys")
    target = parts[1] if len(parts) > 1 and parts[1] else parts[0]
    return {"source": parts[0], "target": target, "permissions": parts[2] if len(parts) > 2 else "rwm"}


def split(spec: str, *, drives: bool = False) -> list[str]:
    """Splits at colons, except inside of references to variables and, with `drives`, after the letter of a drive."""
    made: list[str] = []
    part = ""
    depth = 0
    for index, char in enumerate(spec):
        if char == "$" and spec[index + 1 : index + 2] == "{":
            depth += 1
        elif char == "}" and depth:
            depth -= 1
        elif char == ":" and not depth and not (drives and len(part) == 1 and part.isalpha()):
            made.append(part)
            part = ""
            continue
        part += char
    return [*made, part]


def _options(section: str, made: dict[str, Any]) -> None:
    for option in section.split(","):
        if option in ("ro", "rw"):
            made["read_only"] = option == "ro"
        elif option == "nocopy":
            made["volume"] = {"nocopy": True}
        elif option in _BIND_OPTIONS:
            made.setdefault("bind", {})[_BIND_OPTIONS[option]] = option
