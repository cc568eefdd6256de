"""Adds the implicit parts of a project: names, the default network, dependencies, inherited variables."""

from collections.abc import Mapping
from typing import Any

from setpoint.app.compose.merging import Merger
from setpoint.app.compose.project import Problem
from setpoint.app.compose.short_forms import clean
from setpoint.app.compose.tree import Map, Place, Seq, clone, items_of, path_text, place_of

_NAMESPACES = ("network_mode", "ipc", "pid", "uts", "cgroup")
# The attributes of a service that its hooks before the start inherit; mounts are shared when the hook runs.
_INHERITED = frozenset(
    [
        "annotations",
        "blkio_config",
        "cap_add",
        "cap_drop",
        "cgroup",
        "cgroup_parent",
        "command",
        "configs",
        "cpu_count",
        "cpu_percent",
        "cpu_period",
        "cpu_quota",
        "cpu_rt_period",
        "cpu_rt_runtime",
        "cpu_shares",
        "cpus",
        "cpuset",
        "credential_spec",
        "device_cgroup_rules",
        "devices",
        "dns",
        "dns_opt",
        "dns_search",
        "domainname",
        "entrypoint",
        "env_file",
        "environment",
        "extra_hosts",
        "gpus",
        "group_add",
        "hostname",
        "image",
        "init",
        "ipc",
        "isolation",
        "label_file",
        "labels",
        "log_driver",
        "log_opt",
        "logging",
        "mac_address",
        "mem_limit",
        "mem_reservation",
        "mem_swappiness",
        "memswap_limit",
        "models",
        "network_mode",
        "networks",
        "oom_kill_disable",
        "oom_score_adj",
        "pid",
        "pids_limit",
        "platform",
        "privileged",
        "pull_policy",
        "pull_refresh_after",
        "read_only",
        "runtime",
        "secrets",
        "security_opt",
        "shm_size",
        "stop_grace_period",
        "stop_signal",
        "storage_opt",
        "sysctls",
        "tmpfs",
        "ulimits",
        "umask",
        "use_api_socket",
        "user",
        "userns_mode",
        "uts",
        "volume_driver",
        "volumes_from",
        "working_dir",
    ]
)


def normalize(tree: Any, name: str, environment: Mapping[str, str] | None, problems: list[Problem]) -> None:
    """Completes a project, in place. Without an environment, variables that have their values from there stay empty."""
    _add_networks(tree)
    for section in ("services", "jobs"):
        for service in (tree.get(section) or {}).values():
            _complete(service, environment, problems)
    for section in ("networks", "volumes", "configs", "secrets"):
        for key, value in (tree.get(section) or {}).items():
            resource = Map() if value is None else value
            if resource.get("name") is None:
                resource["name"] = key if resource.get("external") is True else f"{name}_{key}"
            tree[section][key] = resource


def _add_networks(tree: Any) -> None:
    used = False
    for section in ("services", "jobs"):
        for service in (tree.get(section) or {}).values():
            if "provider" in service or "network_mode" in service:
                continue
            if not service.get("networks"):
                service["networks"] = Map()
                service["networks"]["default"] = None
            used = used or "default" in service["networks"]
    networks = tree.get("networks")
    if used and "default" not in (networks or {}):
        if networks is None:
            networks = tree["networks"] = Map()
        networks["default"] = None


def _complete(service: Any, environment: Mapping[str, str] | None, problems: list[Problem]) -> None:
    if service.get("pull_policy") == "if_not_present":
        service["pull_policy"] = "missing"
    build = service.get("build")
    if isinstance(build, dict):
        if build.get("context") is None:
            build["context"] = "."
        if build.get("dockerfile") is None and build.get("dockerfile_inline") is None:
            build["dockerfile"] = "Dockerfile"
        if "args" in build and environment is not None:
            build["args"] = _with_values(build["args"], environment, keep=False)
    if "environment" in service and environment is not None:
        service["environment"] = _with_values(service["environment"], environment, keep=True)
    _add_dependencies(service)
    for volume in service.get("volumes") or ():
        if isinstance(volume, dict) and isinstance(volume.get("target"), str):
            volume["target"] = clean(volume["target"])
    _complete_hooks(service, problems)


def _add_dependencies(service: Any) -> None:
    found = service.get("depends_on")
    found = found if isinstance(found, dict) else Map()
    for link, place in items_of(service.get("links") or ()):
        parts = link.split(":")
        _depend(found, parts[0] if len(parts) == 2 else link, True, place)
    for namespace in _NAMESPACES:
        value = service.get(namespace)
        if isinstance(value, str) and value.startswith("service:"):
            _depend(found, value.removeprefix("service:"), True, place_of(service, namespace))
    for source, place in items_of(service.get("volumes_from") or ()):
        if not source.startswith("container:"):
            _depend(found, source.split(":")[0], False, place)
    if found:
        service["depends_on"] = found


def _depend(found: Any, name: str, restart: bool, place: Place) -> None:
    if name not in found:
        made = Map()
        made.update(condition="service_started", restart=restart, required=True)
        found.put(name, made, place)


def _with_values(value: Any, environment: Mapping[str, str], *, keep: bool) -> Any:
    """Adds the values of variables that have theirs from the environment; `keep` keeps others without a value."""
    if isinstance(value, dict):
        for name in [name for name, inner in value.items() if inner is None]:
            if name in environment:
                value[name] = environment[name]
            elif not keep:
                del value[name]
        return value
    if not isinstance(value, list):
        return value
    made = Seq()
    for entry, place in items_of(value):
        if not isinstance(entry, str):
            continue
        if "=" in entry or (keep and entry not in environment):
            made.add(entry, place)
        elif entry in environment:
            made.add(f"{entry}={environment[entry]}", place)
    return made


def _complete_hooks(service: Any, problems: list[Problem]) -> None:
    hooks = service.get("pre_start")
    if not isinstance(hooks, list):
        return
    base = Map()
    for name in service.keys() & _INHERITED:
        base.put(name, service[name], place_of(service, name))
    for index, (hook, place) in enumerate(items_of(hooks)):
        if isinstance(hook, dict):
            found: list[Problem] = []
            hooks[index] = Merger(found).merge(clone(base), hook, ("services", "hook"))
            problems += [Problem(*place, path_text(("pre_start", index)), each.text) for each in found]
