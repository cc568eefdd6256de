"""`runArgs`: converts flags of `docker create` and `podman create` to fields of the request body. No I/O.

The common flags are supported; other flags are rejected by name with a remedy, and never ignored.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from setpoint.objects import duration
from setpoint.workload.engine.run_arg_values import device, gpus, mount, size, throttle, truth, ulimit, weight

Body: TypeAlias = dict[str, Any]


class BadArgument(ValueError):  # noqa: N818 - named after the condition
    """An argument is invalid; the message names the argument and the remedy."""


class Flag(NamedTuple):
    """A flag: True if a value follows, and the function that changes the body."""

    takes_value: bool
    apply: Callable[[Body, str], None]


def apply_run_args(body: Body, arguments: Sequence[str]) -> str:
    """Changes the body by the flags. Returns the platform, which is not part of the body. Raises BadArgument."""
    platform = ""
    at = 0
    while at < len(arguments):
        where, text = f"runArgs[{at}]", arguments[at]
        at += 1
        for name, given in _split(where, text):
            if name in _ELSEWHERE:
                raise BadArgument(f"{where}: {name} is not supported in runArgs; use {_ELSEWHERE[name]}")
            flag = _FLAGS.get(name)
            if flag is None:
                raise BadArgument(f"{where}: unsupported flag {name}; remove the flag, or use a field of the spec")
            value = given
            if flag.takes_value and value is None:
                if at == len(arguments):
                    raise BadArgument(f"{where}: {name} needs a value")
                value = arguments[at]
                at += 1
            if name == "--platform":
                platform = value or ""
                continue
            try:
                flag.apply(body, value or "")
            except (ValueError, LookupError) as error:
                reason = f": {error}" if isinstance(error, ValueError) and str(error) else ""
                raise BadArgument(f"{where}: invalid value {value!r} for {name}{reason}") from None
    return platform


def _split(where: str, text: str) -> list[tuple[str, str | None]]:
    """Returns the flags of one argument: `--a`, `--a=b`, `-a`, `-ab` for flags without values, `-abc` if a takes the
    value bc."""
    if text.startswith("--"):
        name, equals, value = text.partition("=")
        return [(name, value if equals else None)]
    if not text.startswith("-") or text == "-":
        raise BadArgument(f"{where}: {text!r} is not a flag; runArgs take neither the image nor its arguments")
    found: list[tuple[str, str | None]] = []
    rest = text[1:]
    while rest:
        name, rest = f"-{rest[0]}", rest[1:]
        flag = _FLAGS.get(name)
        if flag is not None and flag.takes_value and rest:
            return [*found, (name, rest.removeprefix("="))]
        found.append((name, None))
    return found


# The functions of the flags.


def _host(body: Body) -> dict[str, Any]:
    found: dict[str, Any] = body.setdefault("HostConfig", {})
    return found


def _switch(name: str) -> Flag:
    return Flag(False, lambda body, value: _host(body).__setitem__(name, truth(value)))


def _own_switch(name: str) -> Flag:
    return Flag(False, lambda body, value: body.__setitem__(name, truth(value)))


def _set(name: str, read: Callable[[str], Any] = str) -> Flag:
    return Flag(True, lambda body, value: _host(body).__setitem__(name, read(value)))


def _own(name: str, read: Callable[[str], Any] = str) -> Flag:
    return Flag(True, lambda body, value: body.__setitem__(name, read(value)))


def _add(name: str, read: Callable[[str], Any] = str) -> Flag:
    return Flag(True, lambda body, value: _host(body).setdefault(name, []).append(read(value)))


def _pair(name: str, separator: str = "=") -> Flag:
    def apply(body: Body, value: str) -> None:
        key, _, rest = value.partition(separator)
        _host(body).setdefault(name, {})[key] = rest

    return Flag(True, apply)


def _health(name: str, read: Callable[[str], Any]) -> Flag:
    return Flag(True, lambda body, value: body.setdefault("Healthcheck", {}).__setitem__(name, read(value)))


def _env(body: Body, value: str) -> None:
    name, equals, _ = value.partition("=")
    if not equals:
        raise ValueError("write NAME=VALUE: variables of the control plane are not passed on")
    others = [each for each in body.get("Env") or () if each.partition("=")[0] != name]
    body["Env"] = [*others, value]


def _label(body: Body, value: str) -> None:
    name, _, text = value.partition("=")
    body.setdefault("Labels", {})[name] = text


def _publish(body: Body, value: str) -> None:
    address, protocol = value.partition("/")[::2]
    parts = address.rsplit(":", 2) if not address.startswith("[") else _bracketed(address)
    host_ip, host_port, port = ["", "", *parts][-3:]
    for offset, each in enumerate(inside := _range(port)):
        outside = _range(host_port) if host_port else []
        if outside and len(outside) != len(inside):
            raise ValueError("both port ranges must have the same length")
        key = f"{each}/{protocol or 'tcp'}"
        body.setdefault("ExposedPorts", {})[key] = {}
        where = {"HostIp": host_ip or "127.0.0.1", "HostPort": str(outside[offset]) if outside else ""}
        _host(body).setdefault("PortBindings", {}).setdefault(key, []).append(where)


def _bracketed(address: str) -> list[str]:
    host, _, rest = address[1:].partition("]")
    return [host, *rest.removeprefix(":").split(":")][-3:] if rest.count(":") == 2 else [host, "", rest[1:]]


def _range(text: str) -> list[int]:
    first, dash, last = text.partition("-")
    found = list(range(int(first), int(last if dash else first) + 1))
    if not found or found[0] < 1 or found[-1] > 65535:
        raise ValueError("a port must be a number from 1 to 65535")
    return found


def _expose(body: Body, value: str) -> None:
    ports, _, protocol = value.partition("/")
    body.setdefault("ExposedPorts", {}).update({f"{each}/{protocol or 'tcp'}": {} for each in _range(ports)})


def _volume(body: Body, value: str) -> None:
    if ":" in value:
        _host(body).setdefault("Binds", []).append(value)
    else:
        body.setdefault("Volumes", {})[value] = {}


def _mount(body: Body, value: str) -> None:
    _host(body).setdefault("Mounts", []).append(mount(value))


def _network(body: Body, value: str) -> None:
    options = dict(part.partition("=")[::2] for part in value.split(",")) if "name=" in value else {"name": value}
    _host(body)["NetworkMode"] = options["name"]
    aliases = [part.partition("=")[2] for part in value.split(",") if part.startswith("alias=")]
    if aliases:
        _endpoint(body)["Aliases"] = aliases


def _endpoint(body: Body) -> dict[str, Any]:
    name = _host(body).get("NetworkMode")
    if not name:
        raise ValueError("add a --network before this flag")
    endpoints = body.setdefault("NetworkingConfig", {}).setdefault("EndpointsConfig", {})
    found: dict[str, Any] = endpoints.setdefault(name, {})
    return found


def _alias(body: Body, value: str) -> None:
    _endpoint(body).setdefault("Aliases", []).append(value)


def _address(name: str) -> Flag:
    return Flag(True, lambda body, value: _endpoint(body).setdefault("IPAMConfig", {}).__setitem__(name, value))


def _restart(text: str) -> dict[str, Any]:
    name, _, count = text.partition(":")
    if name not in ("no", "always", "unless-stopped", "on-failure"):
        raise ValueError("expected no, on-failure[:N], unless-stopped or always")
    return {"Name": name, "MaximumRetryCount": int(count)} if count else {"Name": name}


def _no_healthcheck(body: Body, value: str) -> None:
    if truth(value):
        body["Healthcheck"] = {"Test": ["NONE"]}


def _cpus(text: str) -> int:
    return round(float(text) * 1_000_000_000)


_LOG = "LogConfig"


def _log_driver(body: Body, value: str) -> None:
    _host(body).setdefault(_LOG, {})["Type"] = value


def _log_option(body: Body, value: str) -> None:
    name, _, text = value.partition("=")
    _host(body).setdefault(_LOG, {}).setdefault("Config", {})[name] = text


_FLAGS: dict[str, Flag] = {
    "--add-host": _add("ExtraHosts"),
    "--annotation": _pair("Annotations"),
    "--blkio-weight": _set("BlkioWeight", int),
    "--blkio-weight-device": _add("BlkioWeightDevice", weight),
    "--cap-add": _add("CapAdd"),
    "--cap-drop": _add("CapDrop"),
    "--cgroup-parent": _set("CgroupParent"),
    "--cgroupns": _set("CgroupnsMode"),
    "--cpu-period": _set("CpuPeriod", int),
    "--cpu-quota": _set("CpuQuota", int),
    "--cpu-rt-period": _set("CpuRealtimePeriod", int),
    "--cpu-rt-runtime": _set("CpuRealtimeRuntime", int),
    "--cpu-shares": _set("CpuShares", int),
    "--cpus": _set("NanoCpus", _cpus),
    "--cpuset-cpus": _set("CpusetCpus"),
    "--cpuset-mems": _set("CpusetMems"),
    "--device": _add("Devices", device),
    "--device-cgroup-rule": _add("DeviceCgroupRules"),
    "--device-read-bps": _add("BlkioDeviceReadBps", throttle),
    "--device-read-iops": _add("BlkioDeviceReadIOps", throttle),
    "--device-write-bps": _add("BlkioDeviceWriteBps", throttle),
    "--device-write-iops": _add("BlkioDeviceWriteIOps", throttle),
    "--dns": _add("Dns"),
    "--dns-option": _add("DnsOptions"),
    "--dns-search": _add("DnsSearch"),
    "--domainname": _own("Domainname"),
    "--entrypoint": _own("Entrypoint", lambda text: [text]),
    "--env": Flag(True, _env),
    "--expose": Flag(True, _expose),
    "--gpus": _add("DeviceRequests", gpus),
    "--group-add": _add("GroupAdd"),
    "--health-cmd": _health("Test", lambda text: ["CMD-SHELL", text]),
    "--health-interval": _health("Interval", duration.parse),
    "--health-retries": _health("Retries", int),
    "--health-start-interval": _health("StartInterval", duration.parse),
    "--health-start-period": _health("StartPeriod", duration.parse),
    "--health-timeout": _health("Timeout", duration.parse),
    "--hostname": _own("Hostname"),
    "--init": _switch("Init"),
    "--interactive": _own_switch("OpenStdin"),
    "--ip": _address("IPv4Address"),
    "--ip6": _address("IPv6Address"),
    "--ipc": _set("IpcMode"),
    "--isolation": _set("Isolation"),
    "--label": Flag(True, _label),
    "--log-driver": Flag(True, _log_driver),
    "--log-opt": Flag(True, _log_option),
    "--mac-address": _own("MacAddress"),
    "--memory": _set("Memory", size),
    "--memory-reservation": _set("MemoryReservation", size),
    "--memory-swap": _set("MemorySwap", lambda text: -1 if text == "-1" else size(text)),
    "--memory-swappiness": _set("MemorySwappiness", int),
    "--mount": Flag(True, _mount),
    "--network": Flag(True, _network),
    "--network-alias": Flag(True, _alias),
    "--no-healthcheck": Flag(False, _no_healthcheck),
    "--oom-kill-disable": _switch("OomKillDisable"),
    "--oom-score-adj": _set("OomScoreAdj", int),
    "--pid": _set("PidMode"),
    "--pids-limit": _set("PidsLimit", int),
    "--platform": Flag(True, lambda body, value: None),
    "--privileged": _switch("Privileged"),
    "--publish": Flag(True, _publish),
    "--publish-all": _switch("PublishAllPorts"),
    "--read-only": _switch("ReadonlyRootfs"),
    "--restart": _set("RestartPolicy", _restart),
    "--runtime": _set("Runtime"),
    "--security-opt": _add("SecurityOpt"),
    "--shm-size": _set("ShmSize", size),
    "--stop-signal": _own("StopSignal"),
    "--stop-timeout": _own("StopTimeout", int),
    "--storage-opt": _pair("StorageOpt"),
    "--sysctl": _pair("Sysctls"),
    "--tmpfs": _pair("Tmpfs", ":"),
    "--tty": _own_switch("Tty"),
    "--ulimit": _add("Ulimits", ulimit),
    "--user": _own("User"),
    "--userns": _set("UsernsMode"),
    "--uts": _set("UTSMode"),
    "--volume": Flag(True, _volume),
    "--volumes-from": _add("VolumesFrom"),
    "--workdir": _own("WorkingDir"),
}
_FLAGS |= {
    short: _FLAGS[long]
    for short, long in {
        "-P": "--publish-all",
        "-c": "--cpu-shares",
        "-e": "--env",
        "-h": "--hostname",
        "-i": "--interactive",
        "-l": "--label",
        "-m": "--memory",
        "-p": "--publish",
        "-t": "--tty",
        "-u": "--user",
        "-v": "--volume",
        "-w": "--workdir",
        "--net": "--network",
        "--net-alias": "--network-alias",
        "--dns-opt": "--dns-option",
    }.items()
}
_ELSEWHERE = {
    "--name": "containerName",
    "--pull": "pullPolicy",
    "--env-file": "envFiles",
    "--rm": "mode: a container of a session is removed with its object",
    "--detach": "no flag: containers always run in the background",
    "-d": "no flag: containers always run in the background",
}
