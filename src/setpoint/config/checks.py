"""What types cannot say of a configuration: addresses, stores, names of plugins, files that have to go together."""

from collections.abc import Iterator
from ipaddress import ip_address, ip_network

from setpoint.config.settings import Config
from setpoint.objects.typedyaml import Path, choices
from setpoint.system.controller_names import NAMES

_LOOPBACK_NAMES = ("localhost",)

Wrong = tuple[Path, str]


def check(config: Config) -> list[Wrong]:
    """What is wrong, each with the path of its field."""
    return [
        *_edge(config),
        *_keys(config),
        *_admission(config),
        *_controllers(config),
        *_webhooks(config),
        *_history(config),
    ]


def address(listen: str) -> tuple[str, int] | None:
    """The host and port of `HOST:PORT`; None if that is not what it is."""
    host, colon, port = listen.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not colon or not bare or (":" in bare and bare == host) or not (port.isdecimal() and int(port) < 65536):
        return None
    return bare, int(port)


def _edge(config: Config) -> Iterator[Wrong]:
    where = address(config.listen)
    if where is None:
        yield ("listen",), f"{config.listen}: it should read HOST:PORT, such as 127.0.0.1:6443 or [::1]:0"
    elif config.plain_http and not _is_loopback(where[0]):
        yield ("plainHttp",), f"it is for loopback addresses, and {where[0]} is none: leave it out"
    kind, _, rest = config.store.partition(":")
    if config.store != "memory" and not (kind in ("memory", "sqlite", "etcd") and rest):
        yield ("store",), f"{config.store!r} is no store: it should read memory, sqlite:PATH or etcd:URL"
    token = config.token
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        yield ("token",), "a token is made of printable ASCII characters without spaces"
    try:
        ip_network(config.service_cidr)
    except ValueError as error:
        yield ("serviceCidr",), f"{error}; it should be like 10.0.0.0/16"


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host in _LOOPBACK_NAMES


def _keys(config: Config) -> Iterator[Wrong]:
    tls = config.tls
    if tls.certificate_file and not tls.private_key_file:
        yield ("tls", "certificateFile"), "it goes with privateKeyFile: name both"
    if tls.private_key_file and not tls.certificate_file:
        yield ("tls", "privateKeyFile"), "it goes with certificateFile: name both"
    if tls.client_authority_file and not tls.certificate_file:
        yield ("tls", "clientAuthorityFile"), "it goes with certificateFile: our own authority knows its users"
    if config.audit.policy_file and not config.audit.log_path:
        yield ("audit", "policyFile"), "there is no audit log to record to: name logPath as well, `-` for the output"


def _admission(config: Config) -> Iterator[Wrong]:
    chosen = {"enabled": config.admission.enabled, "disabled": config.admission.disabled}
    if not any(chosen.values()):
        return
    from setpoint.server.admission.plugin_order import OFF_BY_DEFAULT, plugins  # who names none need not wait for all

    names = sorted(plugin.name for plugin in plugins(enabled=OFF_BY_DEFAULT))
    for field, given in chosen.items():
        for index, name in enumerate(given):
            if name not in names:
                yield ("admission", field, index), f"{name} is no plugin{choices(name, names)}"
    for name in {*chosen["enabled"]} & {*chosen["disabled"]}:
        yield ("admission", "disabled"), f"{name} is enabled as well: it cannot be both"


def _controllers(config: Config) -> Iterator[Wrong]:
    for index, name in enumerate(config.controllers):
        bare = name.removeprefix("-")
        if bare not in ("*", *NAMES):
            yield ("controllers", index), f"{bare} is no system controller{choices(bare, NAMES)}"


def _webhooks(config: Config) -> Iterator[Wrong]:
    for name, place in config.webhooks.services.items():
        namespace, slash, service = name.partition("/")
        if not (namespace and slash and service):
            yield ("webhooks", "services", name), f"{name}: it should read NAMESPACE/NAME"
        if address(place) is None:
            yield ("webhooks", "services", name), f"{place}: it should read HOST:PORT"


def _history(config: Config) -> Iterator[Wrong]:
    for name in ("seconds", "revisions", "size"):
        value = getattr(config.history, name)
        if value is not None and value <= 0:
            yield ("history", name), f"{value} is not allowed: it should be more than 0, or left out"
        if value is not None and config.store.startswith("memory:"):
            yield ("history", name), "a store memory:PATH has no such bounds: leave it out"
    seconds = config.history.secret_seconds
    if seconds is not None and seconds <= 0:
        yield ("history", "secretSeconds"), f"{seconds} is not allowed: it should be more than 0, or left out"
    if seconds is not None and config.store.startswith("etcd:"):
        remedy = "bound all history with history.seconds, or leave it out"
        yield ("history", "secretSeconds"), f"a store in etcd cannot remove the past of Secrets alone: {remedy}"
