"""Adds the default values of attributes, and checks rules that the schema cannot express."""

from collections.abc import Iterator
from typing import Any

from setpoint.app.compose.port_spec import is_address
from setpoint.app.compose.project import Problem
from setpoint.app.compose.tree import Place, path_text, place_of

Path = tuple[str | int, ...]
Fault = tuple[Path, Place, str]

_SOURCES = {"configs": ("file", "environment", "content"), "secrets": ("file", "environment")}


def add_defaults(tree: Any) -> None:
    """Adds the default values of a project, in place."""
    for section in ("services", "jobs"):
        for service in _maps(tree.get(section)):
            build = service.get("build")
            if isinstance(build, dict):
                build.setdefault("context", ".")
            for secret in _maps(service.get("secrets")):
                secret.setdefault("target", f"/run/secrets/{secret.get('source')}")
            for port in _maps(service.get("ports")):
                port.setdefault("protocol", "tcp")
                port.setdefault("mode", "ingress")
            for volume in _maps(service.get("volumes")):
                if isinstance(volume.get("bind"), dict):
                    volume["bind"].setdefault("create_host_path", True)
            for device in (*_maps(service.get("gpus")), *_reserved(service)):
                if "count" not in device and "device_ids" not in device:
                    device["count"] = "all"


def check(tree: Any) -> list[Problem]:
    """Returns the faults of a project that are independent of other parts of the project."""
    faults = [*_service_faults(tree), *_resource_faults(tree)]
    return [Problem(*place, path_text(path), text) for path, place, text in faults]


def _service_faults(tree: Any) -> Iterator[Fault]:
    for name, service in (tree.get("services") or {}).items():
        if not isinstance(service, dict):
            continue
        path: Path = ("services", name)
        for index, port in enumerate(service.get("ports") or ()):
            address = str(port["host_ip"]) if isinstance(port, dict) and "host_ip" in port else ""
            if address and "$" not in address and not is_address(address):
                place = place_of(service["ports"], index)
                yield (*path, "ports", index, "host_ip"), place, f"{address!r} is not an IP address; write one"
        for index, mount in enumerate(service.get("volumes") or ()):
            if isinstance(mount, dict) and mount.get("type") == "bind" and "source" not in mount:
                yield (*path, "volumes", index), place_of(service["volumes"], index), "source is missing; add source"
        for index, rule in enumerate((service.get("develop") or {}).get("watch") or ()):
            if rule.get("path") == "":
                place = place_of(rule, "path")
                yield (*path, "develop", "watch", index, "path"), place, "the path is empty; write a path"
        for device in (*_maps(service.get("gpus")), *_reserved(service)):
            if "count" in device and "device_ids" in device:
                yield path, place_of(device, "count"), "a device has count and device_ids; use one of both"


def _resource_faults(tree: Any) -> Iterator[Fault]:
    for name, volume in (tree.get("volumes") or {}).items():
        if not isinstance(volume, dict) or volume.get("external") is not True:
            continue
        for key in volume:
            if key not in ("name", "external") and not key.startswith("x-"):
                text = f"an external volume has no {key}; remove {key} or external"
                yield ("volumes", name, key), place_of(volume, key), text
    for section, sources in _SOURCES.items():
        for name, resource in (tree.get(section) or {}).items():
            place = place_of(tree[section], name)
            given = [source for source in sources if isinstance(resource, dict) and source in resource]
            if len(given) > 1:
                yield (section, name), place, f"{' and '.join(given)} exclude each other; use one of them"
            elif not given and not (isinstance(resource, dict) and resource.keys() & {"driver", "external"}):
                yield (section, name), place, f"one of {', '.join(sources)} or external is required; add one"


def _maps(value: Any) -> list[Any]:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [item for item in items if isinstance(item, dict)]


def _reserved(service: Any) -> list[Any]:
    value = service
    for name in ("deploy", "resources", "reservations", "devices"):
        value = value.get(name) if isinstance(value, dict) else None
    return _maps(value)
