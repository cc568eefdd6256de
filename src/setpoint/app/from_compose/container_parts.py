"""Converts the parts of a Compose service with forms of their own: ports, mounts, files, builds, watches."""

import os.path
from collections.abc import Callable, Mapping
from typing import Any

from setpoint.app.foreign_fields import Fields, several, without_empty
from setpoint.app.forms import SCHEMES
from setpoint.app.reader import app_name
from setpoint.objects.names import dns1123_label
from setpoint.objects.tree import Object

_BUILDKIT = "this setting needs BuildKit, which the API of engines does not offer; build the image beforehand"
_BUILD = dict.fromkeys(
    ("ssh", "cache_to", "no_cache_filter", "provenance", "sbom", "entitlements", "additional_contexts"), _BUILDKIT
)
_MOUNT = {"cluster": "clusters of Docker Swarm are not supported", "npipe": "named pipes exist only on Windows"}


def ports(fields: Fields, *, fixed: bool, replicated: bool) -> Object:
    """Returns the published ports by name. With `fixed`, the container engine publishes them as Compose does;
    replicas share one port of Setpoint's proxy."""
    found: Object = {}
    for index, each in enumerate(several(fields.take("ports"))):
        port = fields.at(each if isinstance(each, Mapping) else {}, "ports", index)
        target = port.take("target")
        if not str(target).isdecimal():
            port.notes.add(port.path, f"the port {each} is not a number, and was left out")
            continue
        made: Object = {"port": int(target)}
        host = str(port.take("published", ""))
        if "-" in host and "$" not in host:
            host = host.partition("-")[0]
            port.note("published", f"one port of the range is published: {host}")
        if host and host != "0":
            made["host"] = int(host) if host.isdecimal() else port.converted(host)
        protocol = port.take("protocol", "tcp")
        if protocol not in ("tcp", "udp"):
            port.note("protocol", f"the protocol {protocol} is not supported; the port was left out")
            continue
        address = port.take("host_ip", "0.0.0.0" if fixed else "")
        made |= without_empty({"protocol": protocol if protocol != "tcp" else "", "address": address})
        made |= without_empty({"scheme": port.take("app_protocol")})
        if fixed and not replicated:
            made["proxy"] = False
        found[_port_name(port.take("name", ""), int(target), found)] = made
        if port.take("mode", "ingress") != "ingress":
            port.note("mode", "a setting of Docker Swarm, which Docker Compose ignores, too")
        port.report_rest()
    return found


def _port_name(given: str, number: int, used: Mapping[str, Any]) -> str:
    scheme = SCHEMES.get(number, "")
    name = app_name(given) if given else scheme if scheme in ("http", "https") else ""
    name = name if name and not list(dns1123_label(name)) else "main" if not used else f"p{number}"
    while name in used:
        name = f"{name}-{number}"
    return name


def mounts(fields: Fields, shown: Callable[[str], str]) -> list[Object]:
    """Returns the mounts of a service. `shown` converts a path of this machine."""
    found: list[Object] = []
    for index, each in enumerate(several(fields.take("volumes"))):
        if not isinstance(each, Mapping):
            fields.note("volumes", f"the volume {each} was left out")
            continue
        mount = fields.at(each, "volumes", index)
        kind, source = mount.take("type", "volume"), mount.take("source", "")
        if kind in _MOUNT:
            mount.note("type", f"{_MOUNT[kind]}; the mount was left out")
            continue
        bind, volume = mount.inner("bind"), mount.inner("volume")
        tmpfs, image = mount.inner("tmpfs"), mount.inner("image")
        mode = tmpfs.take("mode")
        made = {
            "type": kind if kind in ("tmpfs", "image") else "",
            "source": app_name(source) if kind == "volume" and source else shown(source) if kind == "bind" else source,
            "target": mount.text("target"),
            "read_only": mount.take("read_only") or None,
            "propagation": bind.text("propagation"),
            "selinux": bind.text("selinux"),
            "subpath": volume.text("subpath") or image.text("subpath"),
            "nocopy": volume.take("nocopy") or None,
            "size": tmpfs.take("size"),
            "mode": "" if mode is None else oct(mode)[2:] if isinstance(mode, int) else str(mode),
            "consistency": mount.text("consistency"),
        }
        created = bind.take("create_host_path", True)
        if kind == "bind" and not created:
            made["create"] = False
        recursive = bind.take("recursive")
        if recursive not in (None, "enabled"):
            bind.note("recursive", "recursive read-only mounts are not supported")
        for inner in (mount, bind, volume, tmpfs, image):
            inner.report_rest()
        found.append(without_empty(made))
    return found


def build(fields: Fields, shown: Callable[[str], str], secret_of: Callable[[Fields, Any], Object | None]) -> Any:
    """Returns the build of a service. `secret_of` converts a secret."""
    given = fields.take("build")
    if given is None:
        return None
    inner = fields.at(given if isinstance(given, Mapping) else {"context": given}, "build")
    context = inner.take("context", ".")
    if "://" in context or context.startswith("git@"):
        inner.note("context", "a remote context is not supported; clone the repository, and name its directory")
    platforms = several(inner.take("platforms"))
    if len(platforms) > 1:
        inner.note("platforms", f"one platform is built: {platforms[0]}")
    dockerfile = inner.text("dockerfile")
    secrets = [secret_of(inner, each) for each in several(inner.take("secrets"))]
    made = {
        "context": shown(context),
        "dockerfile": "" if dockerfile == "Dockerfile" else dockerfile,
        "dockerfile_inline": inner.text("dockerfile_inline"),
        "target": inner.text("target"),
        "args": inner.map("args"),
        "platform": inner.converted(platforms[0]) if platforms else "",
        "tags": inner.texts("tags"),
        "cache_from": inner.texts("cache_from"),
        "extra_hosts": hosts(inner),
        "labels": inner.map("labels"),
        "network": inner.text("network"),
        "no_cache": inner.take("no_cache") or None,
        "pull": inner.take("pull") or None,
        "shm_size": inner.take("shm_size"),
        "ulimits": ulimits(inner),
        "secrets": [each for each in secrets if each is not None],
    }
    if inner.take("privileged"):
        inner.note("privileged", "a build with full access to this machine is not supported")
    inner.report_rest(_BUILD)
    return without_empty(made)


def hosts(fields: Fields) -> list[str]:
    """Returns additional host names as `name:address`."""
    given = fields.take("extra_hosts")
    if isinstance(given, Mapping):
        return [f"{name}:{fields.converted(each)}" for name, value in given.items() for each in several(value)]
    return [fields.converted(str(each).replace("=", ":", 1)) for each in several(given)]


def ulimits(fields: Fields) -> Object:
    """Returns the limits of processes."""
    given = fields.take("ulimits") or {}
    return {
        name: {"soft": int(each["soft"]), "hard": int(each["hard"])} if isinstance(each, Mapping) else int(each)
        for name, each in given.items()
    }


def watch(fields: Fields, shown: Callable[[str], str]) -> list[Object]:
    """Returns the watch rules of `develop.watch`."""
    develop = fields.inner("develop")
    found = []
    for index, each in enumerate(several(develop.take("watch"))):
        rule = develop.at(each, "watch", index)
        action, path = rule.take("action", ""), shown(rule.take("path", ""))
        ignore, include = rule.texts("ignore"), rule.texts("include")
        filters = without_empty({"ignore": ignore, "include": include})
        made: Object = {}
        hook = rule.inner("exec")
        initial = bool(rule.take("initial_sync"))
        if action in ("rebuild", "restart"):
            made |= {**filters, "paths": [path], **({"do": "rebuild"} if action == "rebuild" else {})}
            rule.take("target")
        elif action in ("sync", "sync+restart", "sync+exec"):
            then: Any = "restart" if action == "sync+restart" else None
            if action == "sync+exec":
                then = command_hook(hook)
            entry = {"from": path, "to": rule.text("target"), **filters, "initial": initial, "then": then}
            made |= {"sync": [without_empty(entry)]}
        else:
            rule.note("action", f"the action {action} is unknown; the rule was left out")
            continue
        hook.report_rest()
        rule.report_rest()
        found.append(made)
    develop.report_rest()
    return found


def command_hook(hook: Fields) -> Object:
    """Returns a command that runs in the container."""
    command = hook.take("command")
    words = [hook.converted(each) for each in command] if isinstance(command, list) else hook.converted(command or "")
    made = {
        "exec": words,
        "user": hook.text("user"),
        "dir": hook.text("working_dir"),
        "env": hook.map("environment"),
        "privileged": hook.take("privileged") or None,
    }
    return without_empty(made)


def relative(directory: str, path: str) -> str:
    """Returns a path below a directory as a path relative to the directory; other paths do not change."""
    if path == directory:
        return "."
    if os.path.isabs(path) and path.startswith(f"{directory}{os.sep}"):
        return f"./{os.path.relpath(path, directory)}"
    return path
