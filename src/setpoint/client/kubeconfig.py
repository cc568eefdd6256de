"""Kubeconfig files: the addresses and credentials of servers, read as kubectl reads them.

Several files are merged: of two entries with the same name, the first is used. Paths are relative to their file. Each
error message names the file, the line and the field.
"""

import base64
import binascii
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from urllib.parse import urlsplit

from setpoint.client import incluster
from setpoint.client.connection_config import ConfigError, ConnectionConfig
from setpoint.client.credentials import Pem, TokenFile, Trust, basic, bearer
from setpoint.client.http.endpoint import EndpointError, endpoint
from setpoint.client.http.transport import Credentials
from setpoint.client.options import Impersonation
from setpoint.client.proxies import proxy_for
from setpoint.client.transport import CredentialsError
from setpoint.objects import plainyaml
from setpoint.objects.clock import Clock, SystemClock
from setpoint.objects.tree import Json, Object
from setpoint.objects.typedyaml import Mistakes, ParsedFile, path_text, read

if TYPE_CHECKING:  # imported when used
    from setpoint.client.execplugin import Plugin

T = TypeVar("T")


def find(*, context: str = "", environ: Mapping[str, str], clock: Clock | None = None) -> ConnectionConfig:
    """Returns the connection to the current cluster, in the order of controller-runtime: the files of `KUBECONFIG`, the
    in-cluster configuration, `~/.kube/config`. Raises ConfigError."""
    if not environ.get("KUBECONFIG") and incluster.is_in_cluster(environ):
        return incluster.connection(environ)
    return from_files(None, context=context, environ=environ, clock=clock)


def from_files(
    path: str | os.PathLike[str] | None, *, context: str = "", environ: Mapping[str, str], clock: Clock | None = None
) -> ConnectionConfig:
    """Returns the connection of a kubeconfig's context, by default the current context. Raises ConfigError."""
    if path is not None:
        return load([Path(path)]).connection(context, environ, clock or SystemClock())
    listed = [Path(each) for each in environ.get("KUBECONFIG", "").split(os.pathsep) if each]
    paths = listed or [_home_directory(environ) / ".kube" / "config"]
    there = [each for each in paths if each.exists()]
    if not there:
        raise ConfigError(f"no kubeconfig found at {' or '.join(map(str, paths))}: set KUBECONFIG, or pass a path")
    return load(there).connection(context, environ, clock or SystemClock())


def _home_directory(environ: Mapping[str, str]) -> Path:
    return Path(environ["HOME"]) if environ.get("HOME") else Path.home()


# The fields with names of files, relative to the directory of the kubeconfig.
_FILES = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


class KubeconfigSection:
    """A part of a file. Fields are checked when read; errors name the file, the line and the field."""

    def __init__(self, source: ParsedFile, path: tuple[str | int, ...], tree: Json) -> None:
        self._source = source
        self._path = path
        if not isinstance(tree, dict):
            raise self.error("", "expected a mapping")
        self._tree: Object = tree

    def error(self, name: str, why: str) -> ConfigError:
        path = (*self._path, name) if name else self._path
        where = f"{self._source.where(path)}: {path_text(path)}" if path else self._source.where(path)
        return ConfigError(f"{where}: {why}")

    def text(self, name: str) -> str:
        return self._of(name, str, "a string (quote a value that YAML reads as another type)", "")

    def flag(self, name: str) -> bool:
        return self._of(name, bool, "true or false", False)

    def texts(self, name: str) -> list[str]:
        found: list[str] = self._of(name, list, "a list of strings", [])
        if not all(isinstance(each, str) for each in found):
            raise self.error(name, "expected a list of strings")
        return found

    def entry(self, name: str) -> "KubeconfigSection | None":
        found = self._tree.get(name)
        return None if found is None else KubeconfigSection(self._source, (*self._path, name), found)

    def entries(self, name: str) -> "list[KubeconfigSection]":
        found = self._of(name, list, "a list", [])
        return [KubeconfigSection(self._source, (*self._path, name, index), each) for index, each in enumerate(found)]

    def fields(self) -> Object:
        return self._tree

    def with_absolute_paths(self) -> Object:
        """Returns a copy of the fields in which the names of files are valid in every directory."""
        files = {name: str((self.directory / self.text(name)).absolute()) for name in _FILES if self.text(name)}
        return {**self._tree, **files}

    def _of(self, name: str, kind: type[T], wanted: str, default: T) -> T:
        value = self._tree.get(name)
        if value is None:
            return default
        if not isinstance(value, kind):
            raise self.error(name, f"expected {wanted}")
        return value

    def data(self, name: str) -> str:
        """Returns the decoded value of a base64 field."""
        text = self.text(name)
        try:
            return base64.b64decode(text, validate=True).decode("ascii") if text else ""
        except (binascii.Error, ValueError):
            raise self.error(name, "expected base64-encoded PEM") from None

    def file(self, name: str) -> Path | None:
        """Returns the path in a field that names an existing file."""
        text = self.text(name)
        if not text:
            return None
        path = self.directory / text
        if not path.is_file():
            raise self.error(name, f"the file {path} does not exist")
        return path

    @property
    def directory(self) -> Path:
        return Path(self._source.file).parent

    def pem(self, name: str) -> Pem:
        """Returns a PEM value: the inline `-data` field if set, else the file."""
        data = self.data(f"{name}-data")
        return Pem(data) if data else Pem(path=self.file(name))


class Kubeconfig(NamedTuple):
    """The merged content of kubeconfig files."""

    files: Sequence[Path]
    clusters: Mapping[str, KubeconfigSection]
    users: Mapping[str, KubeconfigSection]
    contexts: Mapping[str, KubeconfigSection]
    current_context: str

    def connection(self, context: str, environ: Mapping[str, str], clock: Clock) -> ConnectionConfig:
        """Returns the connection of a context. Raises ConfigError."""
        found = self._context(context)
        user = self._named(found, "user", self.users)
        return _connection(self.cluster(context), user, found.text("namespace"), environ, clock)

    def cluster(self, context: str) -> KubeconfigSection:
        """Returns the cluster of a context. Raises ConfigError."""
        cluster = self._named(self._context(context), "cluster", self.clusters, needed=True)
        assert cluster is not None
        return cluster

    def below(self, context: str, path: str) -> Object:
        """Returns a kubeconfig with one context only, whose server is addressed below a path. Raises ConfigError."""
        found = self._context(context)
        user = self._named(found, "user", self.users)
        cluster = self.cluster(context).with_absolute_paths()
        cluster["server"] = f"{str(cluster.get('server', '')).rstrip('/')}{path}"
        name = path.rstrip("/").rpartition("/")[2] or "default"
        parts: Object = {"apiVersion": "v1", "kind": "Config", "current-context": name}
        parts["clusters"] = [{"name": name, "cluster": cluster}]
        parts["users"] = [{"name": name, "user": user.with_absolute_paths() if user is not None else {}}]
        parts["contexts"] = [{"name": name, "context": {**found.fields(), "cluster": name, "user": name}}]
        return parts

    def _context(self, context: str) -> KubeconfigSection:
        where = ", ".join(map(str, self.files))
        name = context or self.current_context
        if not name:
            raise ConfigError(f"{where}: no current-context is set. Contexts: {', '.join(self.contexts) or 'none'}")
        found = self.contexts.get(name)
        if found is None:
            raise ConfigError(f"{where}: context {name!r} not found; contexts: {', '.join(self.contexts) or 'none'}")
        return found

    def _named(
        self, context: KubeconfigSection, field: str, entries: Mapping[str, KubeconfigSection], *, needed: bool = False
    ) -> KubeconfigSection | None:
        name = context.text(field)
        if not name and not needed:
            return None
        if name not in entries:
            raise context.error(field, f"{field} {name!r} not found; known: {', '.join(entries) or 'none'}")
        return entries[name]


def load(paths: Sequence[Path]) -> Kubeconfig:
    """Reads and merges files. Raises ConfigError."""
    found: dict[str, dict[str, KubeconfigSection]] = {"clusters": {}, "users": {}, "contexts": {}}
    current = ""
    for path in paths:
        try:
            source = _source(path.read_text("utf-8"), str(path))
        except Mistakes as mistakes:
            raise ConfigError(str(mistakes)) from None
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
        top = KubeconfigSection(source, (), {} if source.tree is None else source.tree)
        current = current or top.text("current-context")
        for plural, entries in found.items():
            for each in top.entries(plural):
                inner = each.entry(plural[:-1])
                if inner is not None:
                    entries.setdefault(each.text("name"), inner)
    return Kubeconfig(tuple(paths), found["clusters"], found["users"], found["contexts"], current)


def _source(text: str, file: str) -> ParsedFile:
    plain = plainyaml.read(text)
    return ParsedFile(plain, file, text) if plain is not None else read(text, file)


def _connection(
    cluster: KubeconfigSection, user: KubeconfigSection | None, namespace: str, environ: Mapping[str, str], clock: Clock
) -> ConnectionConfig:
    server = cluster.text("server")
    if not server:
        raise cluster.error("", "server is missing: expected https://HOST:PORT")
    insecure, authority = cluster.flag("insecure-skip-tls-verify"), cluster.pem("certificate-authority")
    if insecure and authority:
        raise cluster.error("insecure-skip-tls-verify", "conflicts with certificate-authority: remove one of the two")
    certificate = user.pem("client-certificate") if user is not None else Pem()
    key = user.pem("client-key") if user is not None else Pem()
    if user is not None and bool(certificate) != bool(key):
        missing = "client-key" if certificate else "client-certificate"
        raise user.error("", f"a client certificate needs its key: {missing} is missing")
    trust = Trust(authority=authority, certificate=certificate, key=key, insecure=insecure)
    try:
        context = trust() if not server.startswith("http://") else None
        where = endpoint(
            server,
            tls=context,
            server_name=cluster.text("tls-server-name"),
            proxy=cluster.text("proxy-url") or _proxy(server, environ),
        )
    except EndpointError as error:
        name = "proxy-url" if "proxy" in str(error) else "server"
        raise cluster.error(name, str(error)) from None
    except CredentialsError as error:
        raise (user or cluster).error("", str(error)) from None
    credentials = None if user is None else _credentials(user, cluster, trust, environ, clock)
    return ConnectionConfig(where, credentials, trust, None if user is None else _impersonation(user), namespace)


def _proxy(server: str, environ: Mapping[str, str]) -> str:
    parts = urlsplit(server)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return ""
    return proxy_for(parts.scheme, parts.hostname or "", port, environ)


def _credentials(
    user: KubeconfigSection, cluster: KubeconfigSection, trust: Trust, environ: Mapping[str, str], clock: Clock
) -> Credentials | None:
    token, name, password = user.text("token"), user.text("username"), user.text("password")
    token_file, plugin = user.file("tokenFile"), user.entry("exec")
    if (token or token_file) and name:
        raise user.error("username", "conflicts with token: remove one of the two")
    if user.entry("auth-provider") is not None:
        raise user.error("auth-provider", "auth providers are no longer supported: use an exec plugin")
    if token_file is not None:
        return TokenFile(token_file)
    if token:
        return bearer(token)
    if name or password:
        return basic(name, password)
    if plugin is None:
        return None
    from setpoint.client.execplugin import ExecCredentials

    return ExecCredentials(_plugin(plugin, cluster), trust, clock, environ)


def _plugin(entry: KubeconfigSection, cluster: KubeconfigSection) -> "Plugin":
    from setpoint.client.execplugin import ALWAYS, IF_AVAILABLE, NEVER, VERSIONS, Plugin

    version, command = entry.text("apiVersion"), entry.text("command")
    if version not in VERSIONS:
        raise entry.error("apiVersion", f"expected one of {', '.join(VERSIONS)}")
    if not command:
        raise entry.error("", "command is missing")
    mode = entry.text("interactiveMode") or ("" if version == VERSIONS[0] else IF_AVAILABLE)
    if mode not in (NEVER, IF_AVAILABLE, ALWAYS):
        raise entry.error("interactiveMode", f"expected one of {NEVER}, {IF_AVAILABLE}, {ALWAYS}")
    env = {}
    for each in entry.entries("env"):
        if not each.text("name"):
            raise each.error("", "name is missing")
        env[each.text("name")] = each.text("value")
    cluster_info = _cluster_info(cluster) if entry.flag("provideClusterInfo") else None
    return Plugin(
        version,
        command,
        entry.texts("args"),
        env,
        entry.text("installHint"),
        mode,
        cluster_info,
        entry.directory.absolute(),
    )


def _cluster_info(cluster: KubeconfigSection) -> Object:
    """Returns the cluster information for an exec plugin."""
    from setpoint.client.execplugin import GROUP

    authority = cluster.pem("certificate-authority")
    info: Object = {
        "server": cluster.text("server"),
        "tls-server-name": cluster.text("tls-server-name"),
        "insecure-skip-tls-verify": cluster.flag("insecure-skip-tls-verify"),
        "certificate-authority-data": base64.b64encode(authority.read().encode()).decode() if authority else "",
        "proxy-url": cluster.text("proxy-url"),
    }
    for each in cluster.entries("extensions"):
        if each.text("name") == f"{GROUP}/exec":
            info["config"] = each.fields().get("extension")
    return {name: value for name, value in info.items() if value}


def _impersonation(user: KubeconfigSection) -> Impersonation | None:
    name, groups, uid = user.text("as"), user.texts("as-groups"), user.text("as-uid")
    extra = user.entry("as-user-extra")
    if not name:
        if groups or uid or extra is not None:
            raise user.error("as", "`as` is missing: as-groups, as-uid and as-user-extra require a user name")
        return None
    values = {} if extra is None else {key: extra.texts(key) for key in extra.fields()}
    return Impersonation(name, groups, uid, values)
