"""A second copy of an app: its own name, ports, volumes and networks, even where the file fixes them. A pure function.

The name of the app gets a suffix; the names of volumes and networks in the engine follow. Each fixed port of this
machine is replaced by another one, also in commands, variables and probes that contain the number of the port.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from setpoint.app import forms
from setpoint.app.model import AppFile, Network, Service, Task, Volume
from setpoint.app.parts import EnvValue, Port, Probe
from setpoint.app.ports import ServedPort, all_ports

# Names of this machine in addresses.
_HOSTS = r"localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]|host\.docker\.internal|host\.containers\.internal"
_LONGEST_NAME = 63

W = TypeVar("W", Service, Task)


class FixedPort(NamedTuple):
    """A port of this machine that the file fixes."""

    service: str
    port: str
    number: int
    # True if the program listens on this port by itself.
    by_program: bool = False


class MovedPort(NamedTuple):
    """A fixed port and its replacement. `by_variable` is True if the program gets the number as $PORT only."""

    fixed: FixedPort
    number: int
    by_variable: bool = False


def isolated_name(app: str, suffix: str) -> str:
    """Returns the name of an isolated app."""
    return f"{app[: _LONGEST_NAME - len(suffix) - 1].rstrip('-')}-{suffix}"


def fixed_ports(app: AppFile) -> list[FixedPort]:
    """Returns the fixed ports of this machine. Raises ValueError for an invalid port."""
    found = []
    for name, ports in all_ports(app).items():
        for port in ports.values():
            found += [FixedPort(name, port.name, *each) for each in _numbers(port)]
    return found


def _numbers(port: ServedPort) -> list[tuple[int, bool]]:
    by_program = not port.container and port.listens is not None
    numbers = [(port.listens, True)] if by_program and port.listens is not None else []
    if port.host is not None and (not by_program or port.host != port.listens):
        numbers.append((port.host, False))
    return numbers


def isolated(app: AppFile, suffix: str, numbers: Mapping[int, int]) -> tuple[AppFile, list[MovedPort]]:
    """Returns the isolated app, and its moved ports. `numbers` has a replacement for each fixed port."""
    fixed = fixed_ports(app)
    addresses = _replacer(rf"(?P<host>{_HOSTS}):({{}})(?!\d)", numbers)
    services, moved = {}, []
    for name, service in app.services.items():
        own = [each for each in fixed if each.service == name]
        made = _workload(_container(service, suffix), addresses)
        probes = {probe: _probe(getattr(made, probe), addresses) for probe in ("ready", "alive", "started")}
        made = replace(made, **probes)
        listened = {each.number: numbers[each.number] for each in own if each.by_program}
        told = _workload(made, _replacer(r"(?P<host>(?<![\w.]))({})(?![\w.])", listened)) if listened else made
        by_variable = bool(listened) and told == made
        if by_variable:
            # Many programs read this variable; there is no other way to tell the port.
            told = replace(told, env={**told.env, "PORT": str(next(iter(listened.values())))})
        container = forms.is_container(service)
        ports = {key: _port(value, numbers, container=container) for key, value in told.ports.items()}
        services[name] = replace(told, ports=ports)
        moved += [MovedPort(each, numbers[each.number], by_variable and each.by_program) for each in own]
    made_app = replace(
        app,
        app=isolated_name(app.app, suffix),
        services=services,
        tasks={name: _workload(_container(task, suffix), addresses) for name, task in app.tasks.items()},
        env=_env(app.env, addresses),
        volumes={name: _volume(volume, suffix) for name, volume in app.volumes.items()},
        networks={name: _network(network, suffix) for name, network in app.networks.items()},
    )
    return made_app, moved


_Replace = Callable[[str], str]


def _replacer(pattern: str, numbers: Mapping[int, int]) -> _Replace:
    """Returns a function that replaces port numbers in a text."""
    if not numbers:
        return lambda text: text
    any_number = "|".join(str(number) for number in sorted(numbers, reverse=True))
    compiled = re.compile(pattern.format(any_number))

    def replaced(found: re.Match[str]) -> str:
        number = found[found.lastindex or 0]
        return found[0][: len(found[0]) - len(number)] + str(numbers[int(number)])

    return lambda text: compiled.sub(replaced, text)


def _workload(workload: W, change: _Replace) -> W:
    def words(value: str | tuple[str, ...]) -> str | tuple[str, ...]:
        return change(value) if isinstance(value, str) else tuple(map(change, value))

    return replace(workload, run=words(workload.run), args=words(workload.args), env=_env(workload.env, change))


def _env(env: Mapping[str, EnvValue], change: _Replace) -> dict[str, EnvValue]:
    return {name: change(value) if isinstance(value, str) else value for name, value in env.items()}


def _probe(probe: str | Probe | None, change: _Replace) -> str | Probe | None:
    if probe is None or isinstance(probe, str):
        return probe if probe is None else change(probe)
    command = change(probe.exec) if isinstance(probe.exec, str) else tuple(map(change, probe.exec))
    tcp = change(probe.tcp) if isinstance(probe.tcp, str) else probe.tcp
    return replace(probe, http=change(probe.http), tcp=tcp, exec=command)


def _port(value: int | str | Port, numbers: Mapping[int, int], *, container: bool) -> Port:
    port = forms.port(value)
    host = port.host and numbers.get(port.host, port.host)
    number = port.port if container else port.port and numbers.get(port.port, port.port)
    return replace(port, host=host, port=number)


def _volume(volume: Volume | None, suffix: str) -> Volume | None:
    if volume is None or volume.external or not volume.name:
        return volume
    return replace(volume, name=f"{volume.name}-{suffix}")


def _network(network: Network | None, suffix: str) -> Network | None:
    if network is None or network.external:
        return network
    name = f"{network.name}-{suffix}" if network.name else ""
    return replace(network, name=name, subnet="", ipam=None)


def _container(workload: W, suffix: str) -> W:
    """Returns a workload without a fixed name or fixed addresses of its container."""
    networks = workload.networks
    if isinstance(networks, dict):
        networks = {
            name: given and replace(given, ipv4_address="", ipv6_address="", mac_address="", link_local_ips=())
            for name, given in networks.items()
        }
    name = f"{workload.container_name}-{suffix}" if workload.container_name else ""
    return replace(workload, container_name=name, networks=networks, mac_address="")
