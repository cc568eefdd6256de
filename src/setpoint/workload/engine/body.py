"""Builds the engine's create request from the spec of a Container. No I/O.

`create_body` takes the spec as JSON, with resolved environment and arguments. All values are in the request body and
not on a command line, which other users could read.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from setpoint.objects import duration
from setpoint.objects.quantity import Quantity
from setpoint.workload.engine.run_arg_values import device
from setpoint.workload.engine.run_args import apply_run_args

LOOPBACK, ALL = "127.0.0.1", "0.0.0.0"
_HEALTH_SPANS = {
    "interval": "Interval",
    "timeout": "Timeout",
    "startPeriod": "StartPeriod",
    "startInterval": "StartInterval",
}


class EngineNetwork(NamedTuple):
    """A network of the engine, by its name there, with the aliases and the settings of the container."""

    network: str
    aliases: Sequence[str] = ()
    settings: Mapping[str, Any] = {}

    def endpoint(self) -> dict[str, Any]:
        """Returns the settings of the container in the network, for the engine."""
        return {"Aliases": list(self.aliases), **self.settings}


def endpoint_settings(attachment: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the addresses and options of an entry of `spec.networks`, for the engine."""
    addresses = {
        "IPv4Address": attachment.get("ipv4Address"),
        "IPv6Address": attachment.get("ipv6Address"),
        "LinkLocalIPs": attachment.get("linkLocalAddresses"),
    }
    settings = {
        "IPAMConfig": {name: value for name, value in addresses.items() if value},
        "MacAddress": attachment.get("macAddress"),
        "DriverOpts": attachment.get("driverOptions"),
        "GwPriority": attachment.get("gatewayPriority"),
    }
    return {name: value for name, value in settings.items() if value}


class CreateRequest(NamedTuple):
    """The create request. Networks after the first are connected before the start, because older engines accept only
    one."""

    body: dict[str, Any]
    platform: str = ""
    more_networks: Sequence[EngineNetwork] = ()


def create_body(
    spec: Mapping[str, Any],
    *,
    image: str = "",
    env: Mapping[str, str] | None = None,
    args: Sequence[str] | None = None,
    labels: Mapping[str, str] | None = None,
    networks: Sequence[EngineNetwork] = (),
) -> CreateRequest:
    """Returns the create request. `image`, `env` and `args` replace those of the spec; `labels` are added. Raises
    BadArgument if `runArgs` are invalid."""
    variables = {each["name"]: each.get("value", "") for each in spec.get("env") or ()} if env is None else env
    host: dict[str, Any] = {}
    body: dict[str, Any] = {
        "Image": image or spec.get("image", ""),
        "Env": [f"{name}={value}" for name, value in variables.items()],
        "Labels": {**{each["key"]: each.get("value", "") for each in spec.get("labels") or ()}, **(labels or {})},
        "HostConfig": host,
    }
    arguments = list(spec.get("args") or ()) if args is None else list(args)
    if arguments:
        body["Cmd"] = arguments
    if spec.get("command"):
        body["Entrypoint"] = [spec["command"]]
    if spec.get("terminal") is not None:
        body["Tty"] = body["OpenStdin"] = True
    for name, field in (("user", "User"), ("workingDirectory", "WorkingDir"), ("stopSignal", "StopSignal")):
        if spec.get(name):
            body[field] = spec[name]
    if spec.get("stopTimeout"):
        body["StopTimeout"] = stop_seconds(spec)
    if spec.get("healthcheck") is not None:
        body["Healthcheck"] = _healthcheck(spec["healthcheck"])
    _publish(spec.get("ports") or (), body)
    host["Mounts"] = [_mount(each) for each in spec.get("volumeMounts") or ()]
    _limit(spec, host)
    _allow(spec, host)
    if networks:
        host["NetworkMode"] = networks[0].network
        body["NetworkingConfig"] = {"EndpointsConfig": {networks[0].network: networks[0].endpoint()}}
    platform = apply_run_args(body, spec.get("runArgs") or ())
    body["HostConfig"] = {name: value for name, value in host.items() if value not in (None, [], {})}
    return CreateRequest(body, platform or (spec.get("build") or {}).get("platform", ""), tuple(networks[1:]))


def stop_seconds(spec: Mapping[str, Any]) -> int:
    """Returns the stop timeout, rounded up to the whole seconds that engines support."""
    return -(-duration.parse(spec.get("stopTimeout") or "10s") // duration.SECOND)


def _publish(ports: Sequence[Mapping[str, Any]], body: dict[str, Any]) -> None:
    if not ports:
        return
    bindings: dict[str, list[dict[str, str]]] = {}
    for port in ports:
        key = f"{port['containerPort']}/{str(port.get('protocol') or 'TCP').lower()}"
        # Without a port the engine chooses one. Loopback by default, so that the port is not reachable from the
        # network.
        address = port.get("hostIP") or LOOPBACK
        # Podman with older network plugins forwards no connections for 0.0.0.0; an empty address is all addresses.
        where = {"HostIp": "" if address == ALL else address, "HostPort": str(port.get("hostPort") or "")}
        bindings.setdefault(key, []).append(where)
    body["ExposedPorts"] = {key: {} for key in bindings}
    body["HostConfig"]["PortBindings"] = bindings


def _mount(mount: Mapping[str, Any]) -> dict[str, Any]:
    made = {"Type": mount["type"], "Target": mount["target"], "ReadOnly": bool(mount.get("readOnly"))}
    return {**made, "Source": mount["source"]} if mount.get("source") else made


def _limit(spec: Mapping[str, Any], host: dict[str, Any]) -> None:
    limits = spec.get("resources") or {}
    if limits.get("cpus") is not None:
        host["NanoCpus"] = Quantity.parse(str(limits["cpus"])).value(-9)
    if limits.get("memory") is not None:
        host["Memory"] = Quantity.parse(str(limits["memory"])).value()
    if limits.get("pids") is not None:
        host["PidsLimit"] = limits["pids"]
    policy = spec.get("restartPolicy")
    # With a backoff or a limit in the spec the controller restarts: the engine must not do so too.
    ours = any(spec.get(field) is not None for field in ("restartBackoff", "maxRestarts"))
    if policy and policy != "no" and not ours:
        host["RestartPolicy"] = {"Name": policy}
    host["Ulimits"] = engine_ulimits(spec.get("ulimits") or ())


def engine_ulimits(limits: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the limits of processes, for the engine."""
    return [
        {"Name": each["name"], "Soft": each["soft"], "Hard": each["soft"] if each.get("hard") is None else each["hard"]}
        for each in limits
    ]


def _allow(spec: Mapping[str, Any], host: dict[str, Any]) -> None:
    host["CapAdd"] = list(spec.get("capAdd") or ())
    host["CapDrop"] = list(spec.get("capDrop") or ())
    host["ExtraHosts"] = list(spec.get("extraHosts") or ())
    host["Devices"] = [device(each) for each in spec.get("devices") or ()]
    host["Tmpfs"] = dict(each.partition(":")[::2] for each in spec.get("tmpfs") or ())
    if spec.get("privileged"):
        host["Privileged"] = True


def _healthcheck(check: Mapping[str, Any]) -> dict[str, Any]:
    command = list(check.get("command") or ())
    made: dict[str, Any] = {"Test": ["CMD", *command] if command else ["NONE"]}
    for name, field in _HEALTH_SPANS.items():
        if check.get(name):
            made[field] = duration.parse(check[name])
    if check.get("retries"):
        made["Retries"] = check["retries"]
    return made
