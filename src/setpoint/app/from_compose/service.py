"""Converts one service of a resolved Compose project to a service of an app."""

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from setpoint.app.foreign_fields import Fields, several, without_empty
from setpoint.app.from_compose import container_parts
from setpoint.app.from_compose.names import Names
from setpoint.app.from_compose.unsupported import DEPLOY, RESERVATIONS, SERVICE
from setpoint.app.reader import app_name
from setpoint.objects.tree import Object

_CONDITIONS = {"service_started": "started", "service_healthy": "ready", "service_completed_successfully": "done"}
_PULLS = {"always": "always", "never": "never", "missing": "missing", "if_not_present": "missing", "build": None}
_RESTARTS = ("always", "on-failure", "unless-stopped")
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*([bkmg])b?", re.I)
_UNITS = {"b": "", "k": "Ki", "m": "Mi", "g": "Gi"}
# Docker's defaults of a health check.
_EVERY, _TIMEOUT, _RETRIES = "30s", "30s", 3
# Fields with the same name, by the form of their values.
_TEXTS = (
    "image", "user", "hostname", "domainname", "ipc", "pid", "uts", "userns_mode", "cgroup", "cgroup_parent",
    "platform", "runtime", "isolation", "mac_address", "cpuset",
)  # fmt: skip
_VALUES = (
    "shm_size", "oom_score_adj", "mem_reservation", "mem_swappiness", "memswap_limit", "cpu_shares", "cpu_period",
    "cpu_quota", "cpu_rt_period", "cpu_rt_runtime",
)  # fmt: skip
_SWITCHES = ("privileged", "read_only", "oom_kill_disable", "tty")
_LISTS = (
    "cap_add", "cap_drop", "dns", "dns_opt", "dns_search", "expose", "security_opt", "group_add", "device_cgroup_rules",
    "tmpfs",
)  # fmt: skip
_MAPS = ("labels", "annotations", "sysctls", "storage_opt")


class Surroundings(NamedTuple):
    """The parts of a project that the conversion of a service needs. `file_of` converts a secret or config of a
    service, and `build_secret` one of a build; `shown` converts a path of this machine."""

    names: Names
    shown: Callable[[str], str]
    file_of: Callable[[str, Fields], tuple[str, Object] | None]
    build_secret: Callable[[Fields, Any], Object | None]


def service(name: str, fields: Fields, around: Surroundings) -> Object:
    """Returns the service, and reports the settings without an effect."""
    made: Object = {"image": fields.text("image")}
    made["build"] = container_parts.build(fields, around.shown, around.build_secret)
    if made["build"] and not made["image"]:
        made["image"] = around.names.image(name)
    made["args"] = _words(fields, "command")
    entrypoint = fields.take("entrypoint")
    if entrypoint is not None:
        made["entrypoint"] = [fields.converted(each) for each in _split(entrypoint)]
    made["env_file"] = _env_files(fields, around.shown)
    made["env"] = fields.map("environment")
    made["dir"] = fields.text("working_dir")
    deploy = fields.inner("deploy")
    replicas = _replicas(fields, deploy)
    replicated = replicas is not None
    made["volumes"] = container_parts.mounts(fields, around.shown)
    made["files"] = _files(fields, made["volumes"], around)
    made["ports"] = container_parts.ports(fields, fixed=around.names.fixed, replicated=replicated)
    made["after"] = _after(fields)
    made |= _health(fields)
    made["restart"] = _restart(fields, deploy)
    made["stop"] = without_empty({"signal": fields.text("stop_signal"), "grace": fields.text("stop_grace_period")})
    made["resources"], reserved = _resources(fields, deploy)
    made["networks"] = _networks(name, fields)
    made["replicas"] = replicas
    given = fields.text("container_name")
    made["container_name"] = given or around.names.container(name, replicated=replicated)
    made |= {each: fields.text(each) for each in _TEXTS if each != "image"}
    made |= {each: fields.take(each) for each in _VALUES}
    made |= {each: fields.take(each) or None for each in _SWITCHES}
    made |= {each: fields.texts(each) for each in _LISTS}
    made |= {each: fields.map(each) for each in _MAPS}
    made["init"] = fields.take("init")
    made["stdin"] = fields.take("stdin_open") or None
    made["extra_hosts"] = container_parts.hosts(fields)
    made["devices"] = [_device(each, fields) for each in several(fields.take("devices"))]
    made["ulimits"] = container_parts.ulimits(fields)
    made["logging"] = _logging(fields)
    made["blkio_config"] = _lower(fields.take("blkio_config"), fields)
    made["pull"] = _pull(fields)
    made["profiles"] = fields.texts("profiles")
    made["watch"] = container_parts.watch(fields, around.shown)
    made["network_mode"] = _namespace(fields.text("network_mode"))
    made |= {each: _namespace(made[each]) for each in ("ipc", "pid")}
    made["links"] = [_link(each) for each in fields.texts("links")]
    made["volumes_from"] = [_volume_source(each) for each in fields.texts("volumes_from")]
    made["gpus"] = _gpus(fields, reserved)
    made["mem_reservation"] = made["mem_reservation"] or reserved.take("memory")
    reserved.report_rest(RESERVATIONS)
    if fields.take("attach") is False:
        fields.note("attach", SERVICE["attach"])
    for word in ("credential_spec", "models", "use_api_socket", "pre_start", "post_start", "pre_stop"):
        if fields.take(word):
            fields.note(word, SERVICE[word])
    deploy.report_rest(DEPLOY)
    fields.take("extends")
    fields.take("label_file")
    fields.report_rest(SERVICE)
    kept = without_empty(made)
    if entrypoint is not None:
        kept["entrypoint"] = made["entrypoint"]
    return kept


def _split(value: Any) -> list[Any]:
    return shlex.split(value) if isinstance(value, str) else several(value)


def _words(fields: Fields, name: str) -> Any:
    value = fields.take(name)
    return [fields.converted(each) for each in value] if isinstance(value, list) else fields.converted(value or "")


def _env_files(fields: Fields, shown: Callable[[str], str]) -> list[str]:
    files = several(fields.take("env_file"))
    return [shown(each.get("path", "") if isinstance(each, Mapping) else str(each)) for each in files]


def _replicas(fields: Fields, deploy: Fields) -> Any:
    """Returns the number of containers, or None for one."""
    mode = deploy.take("mode")
    if mode not in (None, "replicated"):
        deploy.note("mode", f"the mode {mode} is one of Docker Swarm; the service has one container")
    scale, number = fields.take("scale"), deploy.take("replicas")
    found = number if scale is None else scale
    return None if found is None or str(found) == "1" else int(found) if str(found).isdecimal() else found


def _files(fields: Fields, mounts: list[Object], around: Surroundings) -> list[Object]:
    """Returns the secrets and configs that are written as files. Those from files of this machine are added to the
    mounts."""
    found: list[Object] = []
    for section in ("secrets", "configs"):
        for index, each in enumerate(several(fields.take(section))):
            entry = fields.at(each if isinstance(each, Mapping) else {"source": each}, section, index)
            made = around.file_of(section, entry)
            entry.report_rest()
            if made is not None:
                kind, tree = made
                (mounts if kind == "mount" else found).append(tree)
    return found


def _after(fields: Fields) -> Object:
    given = fields.take("depends_on") or {}
    waits = given if isinstance(given, Mapping) else {name: {} for name in several(given)}
    found: Object = {}
    for name, how in waits.items():
        wait = fields.at(how, "depends_on", name)
        condition = _CONDITIONS.get(wait.take("condition", "service_started"), "started")
        restart, required = bool(wait.take("restart")), wait.take("required", True)
        wait.report_rest()
        long: Object = {"condition": condition}
        long |= {"restart": True} if restart else {}
        long |= {} if required else {"required": False}
        found[app_name(name)] = condition if len(long) == 1 else long
    return found


def _health(fields: Fields) -> Object:
    """Returns the readiness probe, or the settings of the image's health check."""
    if not fields.has("healthcheck"):
        return {}
    check = fields.inner("healthcheck")
    test, disabled = check.take("test"), check.take("disable")
    words = [check.converted(word) for word in test] if isinstance(test, list) else []
    if isinstance(test, str) and test:
        words = ["CMD-SHELL", check.converted(test)]
    times = {name: check.take(name) for name in ("interval", "timeout", "start_period", "start_interval")}
    retries = check.take("retries")
    check.report_rest()
    if disabled or words[:1] == ["NONE"]:
        return {"image_health": False}
    if not words:
        kept = without_empty({**times, "retries": retries})
        return {"image_health": kept} if kept else {}
    command = ["sh", "-c", " ".join(words[1:])] if words[0] == "CMD-SHELL" else words[1:]
    probe = {
        "exec": command,
        "every": _span(times["interval"]) or _EVERY,
        "timeout": _span(times["timeout"]) or _TIMEOUT,
        "start_period": _span(times["start_period"]),
        "start_interval": _span(times["start_interval"]),
        "fail": int(retries) if retries and str(retries).isdecimal() else _RETRIES,
    }
    return {"ready": without_empty(probe)}


def _span(value: Any) -> str:
    text = str(value or "")
    return "" if text.strip("0smhu.") == "" and not any(digit in text for digit in "123456789") else text


def _restart(fields: Fields, deploy: Fields) -> Any:
    policy, _, most = str(fields.take("restart", "")).partition(":")
    has_policy = deploy.has("restart_policy")
    swarm = deploy.inner("restart_policy")
    condition, delay, window = swarm.take("condition"), swarm.text("delay"), swarm.text("window")
    attempts = swarm.take("max_attempts")
    swarm.report_rest()
    if not policy and has_policy:
        on = {"on-failure": "failure", "none": "never"}.get(condition or "any", "always")
        return without_empty({"on": on, "max": attempts or None, "backoff": _span(delay), "reset": _span(window)})
    if policy == "on-failure" and most.isdecimal() and int(most):
        return {"on": "failure", "max": int(most)}
    return policy if policy in _RESTARTS else None


def _resources(fields: Fields, deploy: Fields) -> tuple[Object, Fields]:
    """Returns the limits, and the fields of the reservations."""
    limits = deploy.inner("resources")
    own = limits.inner("limits")
    made = {
        "cpus": fields.take("cpus") or own.take("cpus"),
        "memory": memory(fields.take("mem_limit") or own.take("memory")),
        "pids": _positive(fields.take("pids_limit")) or _positive(own.take("pids")),
    }
    reserved = limits.inner("reservations")
    own.report_rest()
    limits.report_rest()
    return {name: str(value) if name == "cpus" else value for name, value in without_empty(made).items()}, reserved


def _positive(value: Any) -> int | None:
    return int(value) if value is not None and str(value).isdecimal() and int(value) else None


def memory(value: Any) -> str:
    """Converts an amount of memory to the notation of Kubernetes."""
    text = str(value or "").strip()
    for power, unit in ((30, "Gi"), (20, "Mi"), (10, "Ki")):
        if text.isdecimal() and int(text) and int(text) % (1 << power) == 0:
            return f"{int(text) >> power}{unit}"
    found = _MEMORY.fullmatch(text)
    return f"{found[1]}{_UNITS[found[2].lower()]}" if found else str(value or "")


def _networks(name: str, fields: Fields) -> Any:
    """Returns the networks of a container; None for the default network alone."""
    given = fields.take("networks") or {}
    named = given if isinstance(given, Mapping) else dict.fromkeys(several(given))
    order: list[tuple[int, str]] = []
    found: Object = {}
    # Containers reach each other by the names of the file.
    own = [name] if app_name(name) != name else []
    for each, settings in (named or {"default": None}).items():
        network = fields.at(settings, "networks", each)
        attachment = {
            "aliases": [*own, *network.texts("aliases")],
            "ipv4_address": network.text("ipv4_address"),
            "ipv6_address": network.text("ipv6_address"),
            "link_local_ips": network.texts("link_local_ips"),
            "mac_address": network.text("mac_address"),
            "driver_opts": network.map("driver_opts"),
            "gw_priority": network.take("gw_priority") or None,
        }
        order.append((-int(network.take("priority") or 0), each))
        if network.take("interface_name"):
            network.note("interface_name", "the engine chooses the names of interfaces")
        network.report_rest()
        found[app_name(each)] = without_empty(attachment) or None
    if fields.has("network_mode") or found == {"default": None}:
        return None
    # The first network of a container is the one with the highest priority.
    found = {app_name(each): found[app_name(each)] for _, each in sorted(order, key=lambda pair: pair[0])}
    return found if any(found.values()) else list(found)


def _device(value: Any, fields: Fields) -> str:
    if not isinstance(value, Mapping):
        return fields.converted(value)
    parts = [value.get("source", ""), value.get("target", ""), value.get("permissions", "")]
    if parts[2] in ("", "rwm"):
        parts = parts[:1] if parts[1] in ("", parts[0]) else parts[:2]
    return fields.converted(":".join(parts))


def _logging(fields: Fields) -> Object:
    logging = fields.inner("logging")
    made = without_empty({"driver": logging.text("driver"), "options": logging.map("options")})
    logging.report_rest()
    return made


def _lower(value: Any, fields: Fields) -> Any:
    """Returns a tree with all texts converted, and all keys in lower case: Compose prints `Path` and `Rate`."""
    if isinstance(value, Mapping):
        return {name.lower(): _lower(each, fields) for name, each in value.items()}
    if isinstance(value, list):
        return [_lower(each, fields) for each in value]
    return fields.converted(value) if isinstance(value, str) else value


def _pull(fields: Fields) -> str | None:
    policy = str(fields.take("pull_policy", ""))
    if policy and policy not in _PULLS:
        fields.note("pull_policy", f"the policy {policy} is not supported; the image is pulled if missing")
    return _PULLS.get(policy)


def _namespace(mode: str) -> str:
    kind, colon, name = mode.partition(":")
    return f"service:{app_name(name)}" if kind == "service" and colon else mode


def _link(link: str) -> str:
    name, colon, alias = link.partition(":")
    return f"{app_name(name)}:{alias if colon else name}" if colon or app_name(name) != name else name


def _volume_source(entry: str) -> str:
    if entry.startswith("container:"):
        return entry
    name, colon, mode = entry.partition(":")
    return f"{app_name(name)}{colon}{mode}"


def _gpus(fields: Fields, reserved: Fields) -> Any:
    """Returns the requests for devices, of `gpus` and of `deploy.resources.reservations.devices`."""
    given = fields.take("gpus")
    own = fields.at({"gpus": [] if isinstance(given, str) else given})
    requests = [*_requests(own, "gpus"), *_requests(reserved, "devices")]
    return given if isinstance(given, str) and not requests else requests


def _requests(fields: Fields, name: str) -> list[Object]:
    found = []
    for index, each in enumerate(several(fields.take(name))):
        request = fields.at(each, name, index)
        count = request.take("count")
        made = {
            "driver": request.text("driver"),
            "count": "all" if str(count) == "-1" else count,
            "device_ids": request.texts("device_ids"),
            "capabilities": request.texts("capabilities"),
            "options": request.map("options"),
        }
        request.report_rest()
        found.append(without_empty(made))
    return found
