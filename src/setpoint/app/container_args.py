"""Converts the engine's fields of a container to the arguments `runArgs` of its object. A pure function."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from setpoint.app import forms
from setpoint.app.container_fields import BlkioConfig, DeviceRequest, ImageHealth
from setpoint.app.model import Workload
from setpoint.app.parts import Mount

# Fields with one value, a flag that is set if true, several values, or names with values.
_TEXTS = {
    "hostname": "--hostname",
    "domainname": "--domainname",
    "uts": "--uts",
    "userns_mode": "--userns",
    "cgroup": "--cgroupns",
    "cgroup_parent": "--cgroup-parent",
    "platform": "--platform",
    "runtime": "--runtime",
    "isolation": "--isolation",
    "mac_address": "--mac-address",
    "shm_size": "--shm-size",
    "oom_score_adj": "--oom-score-adj",
    "mem_reservation": "--memory-reservation",
    "mem_swappiness": "--memory-swappiness",
    "memswap_limit": "--memory-swap",
    "cpu_shares": "--cpu-shares",
    "cpu_period": "--cpu-period",
    "cpu_quota": "--cpu-quota",
    "cpu_rt_period": "--cpu-rt-period",
    "cpu_rt_runtime": "--cpu-rt-runtime",
    "cpuset": "--cpuset-cpus",
}
_SWITCHES = {
    "init": "--init",
    "read_only": "--read-only",
    "oom_kill_disable": "--oom-kill-disable",
    "stdin": "--interactive",
    "tty": "--tty",
}
_LISTS = {
    "dns": "--dns",
    "dns_opt": "--dns-option",
    "dns_search": "--dns-search",
    "expose": "--expose",
    "security_opt": "--security-opt",
    "group_add": "--group-add",
    "device_cgroup_rules": "--device-cgroup-rule",
}
_MAPS = {"sysctls": "--sysctl", "annotations": "--annotation", "storage_opt": "--storage-opt"}
_NAMESPACES = {"network_mode": "--network", "ipc": "--ipc", "pid": "--pid"}
_RATES = {
    "device_read_bps": "--device-read-bps",
    "device_read_iops": "--device-read-iops",
    "device_write_bps": "--device-write-bps",
    "device_write_iops": "--device-write-iops",
}


def run_args(workload: Workload, container_of: Callable[[str], str]) -> list[str]:
    """Returns the arguments for the fields of a container with resolved references. `container_of` returns the
    name of a service's container."""
    return list(_arguments(workload, container_of))


def shares_with(workload: Workload) -> list[str]:
    """Returns the services that share namespaces or volumes with a container: their containers must have started."""
    modes = (getattr(workload, field) for field in _NAMESPACES)
    found = [mode.removeprefix("service:") for mode in modes if mode.startswith("service:")]
    return [*found, *(name for name in map(_source_name, workload.volumes_from) if name)]


def _arguments(workload: Workload, container_of: Callable[[str], str]) -> Iterator[str]:
    for field, flag in _TEXTS.items():
        if (value := getattr(workload, field)) not in ("", None):
            yield f"{flag}={value}"
    for field, flag in _SWITCHES.items():
        if (on := getattr(workload, field)) is not None and (on or field == "init"):
            yield flag if on else f"{flag}=false"
    for field, flag in _LISTS.items():
        yield from (f"{flag}={each}" for each in _several(getattr(workload, field)))
    for field, flag in _MAPS.items():
        pairs: Mapping[str, Any] = getattr(workload, field)
        yield from (f"{flag}={name}={value}" for name, value in pairs.items())
    for field, flag in _NAMESPACES.items():
        if mode := getattr(workload, field):
            yield f"{flag}={_namespace(mode, container_of)}"
    yield from (f"--volumes-from={_source(each, container_of)}" for each in workload.volumes_from)
    yield from (f"--gpus={each}" for each in _devices(workload.gpus))
    yield from _logging(workload)
    if workload.blkio_config is not None:
        yield from _disks(workload.blkio_config)
    yield from _health(workload.image_health)


def _several(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else forms.many(value)


def _namespace(mode: str, container_of: Callable[[str], str]) -> str:
    kind, _, name = mode.partition(":")
    return f"container:{container_of(name)}" if kind == "service" else mode


def _source_name(entry: str) -> str:
    """Returns the service of an entry of `volumes_from`; empty for a container of another program."""
    return "" if entry.startswith("container:") else entry.partition(":")[0]


def _source(entry: str, container_of: Callable[[str], str]) -> str:
    name, colon, mode = entry.removeprefix("container:").partition(":")
    container = name if entry.startswith("container:") else container_of(name)
    return f"{container}{colon}{mode}"


def _devices(gpus: str | tuple[DeviceRequest, ...]) -> Iterator[str]:
    if isinstance(gpus, str):
        if gpus:
            yield gpus
        return
    for each in gpus:
        fields = [
            f"driver={each.driver}" if each.driver else "",
            f"count={each.count}" if each.count not in ("", None) else "",
            f"device={','.join(each.device_ids)}" if each.device_ids else "",
            f"capabilities={','.join(each.capabilities)}" if each.capabilities else "",
            f"options={','.join(f'{name}={value}' for name, value in each.options.items())}" if each.options else "",
        ]
        if not each.device_ids and each.count in ("", None):
            fields.append("count=all")
        yield ",".join(quoted(field) for field in fields if field)


def _logging(workload: Workload) -> Iterator[str]:
    if workload.logging is not None:
        if workload.logging.driver:
            yield f"--log-driver={workload.logging.driver}"
        yield from (f"--log-opt={name}={value}" for name, value in workload.logging.options.items())


def _health(health: bool | ImageHealth) -> Iterator[str]:
    if isinstance(health, bool):
        if not health:
            yield "--no-healthcheck"
        return
    for field in ("interval", "timeout", "start_period", "start_interval", "retries"):
        if (value := getattr(health, field)) not in ("", None):
            yield f"--health-{field.replace('_', '-')}={value}"


def _disks(disks: BlkioConfig) -> Iterator[str]:
    if disks.weight not in ("", None):
        yield f"--blkio-weight={disks.weight}"
    yield from (f"--blkio-weight-device={each.path}:{each.weight}" for each in disks.weight_device)
    for field, flag in _RATES.items():
        yield from (f"{flag}={each.path}:{each.rate}" for each in getattr(disks, field))


def mount_arguments(mount: Mount, kind: str, source: str) -> list[str]:
    """Returns the argument of a mount with options that `volumeMounts` has not; empty for a simple mount."""
    options = {
        "bind-propagation": mount.propagation,
        "volume-subpath": mount.subpath if kind == "volume" else "",
        "image-subpath": mount.subpath if kind == "image" else "",
        "tmpfs-size": mount.size,
        "tmpfs-mode": mount.mode,
        "consistency": mount.consistency,
    }
    switches = {"volume-nocopy": mount.nocopy, "bind-create-src": False}
    needed = kind in ("tmpfs", "image") or not mount.create or any(options.values()) or any(switches.values())
    if mount.selinux:
        mode = ",".join(["ro" if mount.read_only else "rw", mount.selinux])
        return [f"--volume={source}:{mount.target}:{mode}"]
    if not needed:
        return []
    switches["bind-create-src"] = kind == "bind" and mount.create
    fields = [f"type={kind}", *([f"source={source}"] if source else []), f"target={mount.target}"]
    fields += (f"{name}={value}" for name, value in options.items() if value)
    fields += (name for name, is_set in switches.items() if is_set)
    fields += ["readonly"] if mount.read_only else []
    return [f"--mount={','.join(map(quoted, fields))}"]


def quoted(field: str) -> str:
    """Quotes a field of a list with commas, as CSV."""
    return '"' + field.replace('"', '""') + '"' if "," in field or '"' in field else field
