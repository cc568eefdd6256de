"""Checks of a configuration beyond its types: addresses, stores, plugin names, and files that belong together."""

from collections.abc import Iterator
from ipaddress import ip_address, ip_network

from setpoint.config.settings import Config
from setpoint.objects.typedyaml import Path, choices
from setpoint.system.controller_names import NAMES, SERVER_NAMES
from setpoint.system.node_setting import parse_nodes

_LOOPBACK_NAMES = ("localhost",)

Wrong = tuple[Path, str]


def check(config: Config) -> list[Wrong]:
    """Returns the mistakes, each with the path of its field."""
    return [
        *_edge(config),
        *_keys(config),
        *_admission(config),
        *_controllers(config),
        *_webhooks(config),
        *_history(config),
    ]


def address(listen: str) -> tuple[str, int] | None:
    """Returns the host and port of `HOST:PORT`; None if the text has another form."""
    host, colon, port = listen.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not colon or not bare or (":" in bare and bare == host) or not (port.isdecimal() and int(port) < 65536):
        return None
    return bare, int(port)


def _edge(config: Config) -> Iterator[Wrong]:
    where = address(config.listen)
    if where is None:
        yield ("listen",), f"{config.listen}: invalid address, expected HOST:PORT, e.g. 127.0.0.1:6443 or [::1]:0"
    elif config.plain_http and not _is_loopback(where[0]):
        yield ("plainHttp",), f"allowed on loopback addresses only, not on {where[0]}: remove it"
    kind, _, rest = config.store.partition(":")
    if config.store != "memory" and not (kind in ("memory", "sqlite", "etcd") and rest):
        yield ("store",), f"invalid store {config.store!r}: expected memory, sqlite:PATH or etcd:URL"
    token = config.token
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        yield ("token",), "invalid token: use printable ASCII characters without spaces"
    try:
        ip_network(config.service_cidr)
    except ValueError as error:
        yield ("serviceCidr",), f"{error}; expected a CIDR, e.g. 10.0.0.0/16"


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host in _LOOPBACK_NAMES


def _keys(config: Config) -> Iterator[Wrong]:
    tls = config.tls
    if tls.certificate_file and not tls.private_key_file:
        yield ("tls", "certificateFile"), "privateKeyFile is missing: set both"
    if tls.private_key_file and not tls.certificate_file:
        yield ("tls", "privateKeyFile"), "certificateFile is missing: set both"
    if tls.client_authority_file and not tls.certificate_file:
        yield ("tls", "clientAuthorityFile"), "requires certificateFile: the server's own CA already verifies clients"
    if config.audit.policy_file and not config.audit.log_path:
        yield ("audit", "policyFile"), "requires logPath: set the file of the audit log, or `-` for stdout"


def _admission(config: Config) -> Iterator[Wrong]:
    chosen = {"enabled": config.admission.enabled, "disabled": config.admission.disabled}
    if not any(chosen.values()):
        return
    from setpoint.server.admission.plugin_order import OFF_BY_DEFAULT, plugins  # who names none need not wait for all

    names = sorted(plugin.name for plugin in plugins(enabled=OFF_BY_DEFAULT))
    for field, given in chosen.items():
        for index, name in enumerate(given):
            if name not in names:
                yield ("admission", field, index), f"unknown admission plugin {name}{choices(name, names)}"
    for name in {*chosen["enabled"]} & {*chosen["disabled"]}:
        yield ("admission", "disabled"), f"{name} is both enabled and disabled"


def _controllers(config: Config) -> Iterator[Wrong]:
    for index, name in enumerate(config.controllers):
        bare = name.removeprefix("-")
        if bare not in ("*", *NAMES, *SERVER_NAMES):
            yield ("controllers", index), f"unknown system controller {bare}{choices(bare, (*NAMES, *SERVER_NAMES))}"
    try:
        parse_nodes(config.nodes)
    except ValueError as error:
        yield ("nodes",), str(error)


def _webhooks(config: Config) -> Iterator[Wrong]:
    for name, place in config.webhooks.services.items():
        namespace, slash, service = name.partition("/")
        if not (namespace and slash and service):
            yield ("webhooks", "services", name), f"{name}: expected NAMESPACE/NAME"
        if address(place) is None:
            yield ("webhooks", "services", name), f"{place}: expected HOST:PORT"


def _history(config: Config) -> Iterator[Wrong]:
    for name in ("seconds", "revisions", "size"):
        value = getattr(config.history, name)
        if value is not None and value <= 0:
            yield ("history", name), f"{value} is out of range: must be greater than 0, or left out"
        if value is not None and config.store.startswith("memory:"):
            yield ("history", name), "the store memory:PATH does not support this bound: remove the setting"
    seconds = config.history.secret_seconds
    if seconds is not None and seconds <= 0:
        yield ("history", "secretSeconds"), f"{seconds} is out of range: must be greater than 0, or left out"
    if seconds is not None and config.store.startswith("etcd:"):
        remedy = "bound the whole history with history.seconds, or remove the setting"
        yield ("history", "secretSeconds"), f"etcd cannot purge the history of Secrets separately: {remedy}"
