"""Credentials from a command: the exec plugins of kubeconfigs (client.authentication.k8s.io, v1 and v1beta1).

The command runs when credentials are first needed, when they have expired, and when the server rejected them.
Concurrent requests share one run. The credentials are cached until they expire.
"""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from setpoint.client.credentials import Trust
from setpoint.client.transport import CredentialsError
from setpoint.objects.clock import Clock
from setpoint.objects.times import parse_time
from setpoint.objects.tree import Object

GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
NEVER, IF_AVAILABLE, ALWAYS = "Never", "IfAvailable", "Always"
_MAX_OUTPUT_BYTES = 1 << 20


class Plugin(NamedTuple):
    """The command of an exec plugin, and the options for running the command."""

    api_version: str
    command: str
    args: Sequence[str] = ()
    env: Mapping[str, str] = {}
    install_hint: str = ""
    interactive_mode: str = IF_AVAILABLE
    # The cluster information for the command, if `provideClusterInfo` is set.
    cluster: Object | None = None
    # The directory for resolving a command that is a relative path.
    directory: Path | None = None


class _Credential(NamedTuple):
    headers: Mapping[str, str]
    certificate: str = ""
    key: str = ""
    expires: datetime | None = None


class ExecCredentials:
    """Credentials from an exec plugin. Client certificates of the plugin are installed in `trust`."""

    def __init__(self, plugin: Plugin, trust: Trust, clock: Clock, environ: Mapping[str, str]) -> None:
        self._plugin = plugin
        self._trust = trust
        self._clock = clock
        self._environ = environ
        self._credential: _Credential | None = None
        self._running = asyncio.Lock()

    async def __call__(self, refused: Mapping[str, str] | None) -> Mapping[str, str]:
        known = self._credential
        if known is None or refused == known.headers or self._is_expired(known):
            async with self._running:
                # Another request may have run the command while this one waited for the lock.
                if self._credential is known or self._credential is None:
                    self._credential = await self._fresh()
                known = self._credential
        return known.headers

    def _is_expired(self, credential: _Credential) -> bool:
        return credential.expires is not None and self._clock.now() >= credential.expires

    async def _fresh(self) -> _Credential:
        found = self._read(await self._run())
        if found.certificate:
            try:
                self._trust.use_certificate(found.certificate, found.key)
            except (OSError, ValueError) as error:
                raise self._error(f"returned an invalid certificate: {error}") from None
        return found

    async def _run(self) -> bytes:
        plugin = self._plugin
        is_interactive = self._is_interactive()
        spec: Object = {"interactive": is_interactive}
        if plugin.cluster is not None:
            spec["cluster"] = plugin.cluster
        info = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
        environ = {**self._environ, **plugin.env, "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}
        command = plugin.command
        if os.sep in command and plugin.directory is not None:
            command = str(plugin.directory / command)
        try:
            process = await asyncio.create_subprocess_exec(
                command,
                *plugin.args,
                stdin=None if is_interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                env=environ,
            )
        except FileNotFoundError:
            raise self._error("was not found") from None
        except OSError as error:
            raise self._error(f"cannot be run: {error.strerror}") from None
        try:
            output, _ = await process.communicate()
        except BaseException:
            if process.returncode is None:
                process.kill()
                await process.wait()
            raise
        if process.returncode:
            raise self._error(f"failed with exit code {process.returncode}")
        return output[: _MAX_OUTPUT_BYTES + 1]

    def _is_interactive(self) -> bool:
        mode = self._plugin.interactive_mode
        if mode == NEVER:
            return False
        has_terminal = sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
        if mode == ALWAYS and not has_terminal:
            raise self._error("requires a terminal (interactiveMode: Always), but standard input is not a terminal")
        return has_terminal

    def _read(self, output: bytes) -> _Credential:
        try:
            tree = msgspec.json.decode(output)
        except msgspec.DecodeError as error:
            raise self._error(f"returned invalid JSON: {error}") from None
        if not isinstance(tree, dict) or tree.get("kind") != "ExecCredential":
            raise self._error("returned no ExecCredential")
        if tree.get("apiVersion") != self._plugin.api_version:
            version, wanted = tree.get("apiVersion"), self._plugin.api_version
            raise self._error(f"returned an ExecCredential of {version}, expected {wanted} as in the kubeconfig")
        status = tree.get("status")
        if not isinstance(status, dict):
            raise self._error("returned an ExecCredential without a status")
        token, certificate, key, until = (
            self._text(status, name)
            for name in ("token", "clientCertificateData", "clientKeyData", "expirationTimestamp")
        )
        if bool(certificate) != bool(key):
            raise self._error("returned a certificate without its key, or a key without its certificate")
        if not token and not certificate:
            raise self._error("returned neither a token nor a certificate")
        try:
            expires = parse_time(until) if until else None
        except ValueError:
            raise self._error(f"returned an invalid expirationTimestamp: {until!r}") from None
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return _Credential(headers, certificate, key, expires)

    def _text(self, status: Object, name: str) -> str:
        value = status.get(name, "")
        if not isinstance(value, str | None):
            raise self._error(f"returned a {name} that is not a string")
        return value or ""

    def _error(self, why: str) -> CredentialsError:
        plugin = self._plugin
        hint = f"\n\n{plugin.install_hint.strip()}" if plugin.install_hint and why == "was not found" else ""
        return CredentialsError(f"the credentials command {plugin.command!r} {why}{hint}")
