"""Generates a project for each key that the Compose schema allows in a service, also for nested keys.

A test that feeds all of them finds each key that the code under test neither uses nor reports.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from setpoint.app.compose.schema import Shape, specification

# Values for keys whose values must have a certain form or refer to other parts, by the path of the key.
_VALUES: dict[str, Any] = {
    "blkio_config.device_read_bps": [{"path": "/dev/sda", "rate": "1mb"}],
    "blkio_config.device_read_bps.[].rate": "1mb",
    "blkio_config.device_read_iops.[].rate": 100,
    "blkio_config.device_write_bps.[].rate": "1mb",
    "blkio_config.device_write_iops.[].rate": 100,
    "blkio_config.weight_device": [{"path": "/dev/sda", "weight": 100}],
    "build": ".",
    "build.additional_contexts": {"other": "./other"},
    "build.extra_hosts": ["host:10.0.0.1"],
    "build.platforms": ["linux/amd64"],
    "build.secrets": ["hidden"],
    "build.secrets.[].source": "hidden",
    "build.shm_size": "64m",
    "build.ssh": ["default"],
    "build.ulimits": {"nofile": 1024},
    "configs": ["settings"],
    "configs.[].source": "settings",
    "cpu_count": 1,
    "cpu_percent": 50,
    "cpus": 0.5,
    "credential_spec.file": "spec.json",
    "depends_on": ["other"],
    "deploy.resources.limits.cpus": "0.5",
    "deploy.resources.limits.memory": "64m",
    "deploy.resources.reservations.devices.[].count": 1,
    "deploy.resources.reservations.cpus": "0.5",
    "deploy.resources.reservations.memory": "64m",
    "deploy.restart_policy.delay": "5s",
    "deploy.restart_policy.window": "5s",
    "deploy.rollback_config.delay": "5s",
    "deploy.rollback_config.monitor": "5s",
    "deploy.update_config.delay": "5s",
    "deploy.update_config.monitor": "5s",
    "develop": {"watch": [{"path": "./src", "action": "sync", "target": "/src"}]},
    "develop.watch": [{"path": "./src", "action": "sync", "target": "/src"}],
    "develop.watch.[].action": "sync",
    "develop.watch.[].path": "./src",
    "develop.watch.[].target": "/src",
    "devices": ["/dev/null:/dev/null"],
    "env_file": [{"path": "absent.env", "required": False}],
    "env_file.[].format": "raw",
    "env_file.[].path": "absent.env",
    "env_file.[].required": False,
    "expose": ["80"],
    "extends": "other",
    "extends.file": "common.yaml",
    "extends.service": "other",
    "external_links": ["elsewhere:alias"],
    "extra_hosts": ["host:10.0.0.1"],
    "gpus": "all",
    "gpus.[].count": 1,
    "healthcheck.interval": "5s",
    "healthcheck.start_interval": "5s",
    "healthcheck.start_period": "5s",
    "healthcheck.test": ["CMD", "true"],
    "healthcheck.timeout": "5s",
    "label_file": ["labels.txt"],
    "links": ["other"],
    "mem_limit": "64m",
    "mem_reservation": "32m",
    "mem_swappiness": 10,
    "memswap_limit": "128m",
    "models": ["llm"],
    "network_mode": "host",
    "networks": ["front"],
    "oom_score_adj": 1,
    "ports": ["8080:80"],
    "ports.[].host_ip": "127.0.0.1",
    "ports.[].published": "8080",
    "ports.[].target": 80,
    "pre_start": [{"command": ["true"]}],
    "provider": {"type": "external-tool"},
    "pull_policy": "always",
    "restart": "always",
    "scale": 2,
    "secrets": ["hidden"],
    "secrets.[].source": "hidden",
    "shm_size": "64m",
    "stop_grace_period": "5s",
    "storage_opt": {"size": "1G"},
    "ulimits": {"nofile": 1024},
    "umask": "022",
    "volumes": ["./data:/data"],
    "volumes.[].source": "./data",
    "volumes.[].target": "/data",
    "volumes.[].tmpfs": {"size": "10m"},
    "volumes.[].tmpfs.size": "10m",
    "volumes_from": ["other"],
    "x-own": {"any": "value"},
}
# Keys that all keys of a mapping need beside them, by the path of the mapping.
_WITHIN: dict[str, dict[str, Any]] = {
    "build.secrets.[]": {"source": "hidden"},
    "configs.[]": {"source": "settings"},
    "develop.watch.[]": {"target": "/src"},
    "devices.[]": {"target": "/dev/null"},
    "env_file.[]": {"required": False},
    "extends": {"service": "other"},
    "ports.[]": {"target": 80},
    "secrets.[]": {"source": "hidden"},
    "volumes.[]": {"source": "./data", "target": "/data"},
}
# Keys that one key needs beside it; an empty value removes a key.
_BESIDE: dict[str, dict[str, Any]] = {
    "volumes.[].image": {"type": "image", "source": "alpine"},
    "volumes.[].tmpfs": {"type": "tmpfs", "source": ""},
    "volumes.[].volume": {"type": "volume", "source": "data"},
}
# The names of the entries of mappings, by the path of the mapping.
_NAMES = {"depends_on": "other", "models": "llm", "networks": "front", "ulimits": "nofile", "build.ulimits": "nofile"}
# The files that the samples refer to.
FILES = {"labels.txt": "label=text\n", "common.yaml": "services:\n  other:\n    image: other\n"}
# Samples of hooks before the start have the keys of a container, which are sampled as keys of the service.
_NOT_ENTERED = ("pre_start",)
_EXTENSION = "x-own"


class Sample(NamedTuple):
    """A project whose service `app` has the key at `path`, such as `build.args` or `ports.[].name`."""

    path: str
    project: dict[str, Any]


def samples() -> Iterator[Sample]:
    """Yields a sample for each key of a service."""
    service = specification().properties["services"].patterns[0][1]
    for path, fields in _keys(service, ""):
        yield Sample(path, _project({"image": "app", **fields}))
    yield Sample(_EXTENSION, _project({"image": "app", _EXTENSION: _VALUES[_EXTENSION]}))


def _project(service: dict[str, Any]) -> dict[str, Any]:
    if "provider" in service:
        service = {name: value for name, value in service.items() if name != "image"}
    return {
        "name": "sample",
        "services": {"app": service, "other": {"image": "other", "build": "."}},
        "networks": {"front": None},
        "volumes": {"data": None},
        "secrets": {"hidden": {"environment": "HIDDEN"}},
        "configs": {"settings": {"content": "a=1"}},
        "models": {"llm": {"model": "ai/model"}},
    }


def _keys(shape: Shape, prefix: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the paths of the keys of a mapping, with a mapping that has the key and all required keys."""
    required = {name: _value(shape.properties[name], f"{prefix}{name}") for name in shape.required}
    required.update(_WITHIN.get(prefix.rstrip("."), {}))
    for name, inner in sorted(shape.properties.items()):
        path = f"{prefix}{name}"
        beside = {**required, **_BESIDE.get(path, {})}
        beside = {each: value for each, value in beside.items() if value != ""}
        yield path, {**beside, name: _value(inner, path)}
        if path not in _NOT_ENTERED:
            for below, value in _nested(inner, path):
                yield below, {**beside, name: value}


def _nested(shape: Shape, path: str) -> Iterator[tuple[str, Any]]:
    """Yields the paths of the keys inside of a value, with the value."""
    for each in shape.one_of or (shape,):
        if each.properties:
            yield from _keys(each, f"{path}.")
        if each.items is not None:
            for below, value in _nested(each.items, f"{path}.[]"):
                yield below, [value]
        for pattern, inner in each.patterns:
            if pattern.pattern != "^x-":
                for below, value in _nested(inner, f"{path}.*"):
                    yield below, {_NAMES.get(path, "name"): value}


def _value(shape: Shape, path: str) -> Any:
    """Returns a valid value."""
    if path in _VALUES:
        return _VALUES[path]
    if shape.one_of:
        shape = next((each for each in shape.one_of if "null" not in each.kinds), shape.one_of[0])
    if shape.enum:
        return shape.enum[0]
    kind = shape.kinds[0] if shape.kinds else "string"
    if kind == "array":
        return [_value(shape.items, f"{path}.[]")] if shape.items is not None else ["text"]
    if kind == "object":
        if shape.properties:
            names = shape.required or sorted(shape.properties)[:1]
            return {name: _value(shape.properties[name], f"{path}.{name}") for name in names}
        return {"name": "text"}
    return {"boolean": True, "integer": 1, "number": 1, "string": "text"}[kind]
