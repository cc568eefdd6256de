"""The program that envtest starts as kube-apiserver: Setpoint's server, configured by kube-apiserver's flags.

The server uses the given certificates, and authenticates users by client certificates of the given authority. SIGTERM
or SIGINT stops the server at once. Errors in the flags are printed to standard error and end the program; flags without
effect are printed there as well, and the server starts.
"""

import asyncio
import gc
import logging
import secrets
import sys
from collections.abc import Sequence
from typing import Literal, cast

from setpoint import process
from setpoint.config import Config
from setpoint.config.settings import Admission, Authorization, AuthorizationMode
from setpoint.envtest.flags import FlagError, Flags
from setpoint.envtest.identity import authentication, certificates
from setpoint.envtest.store_detection import store_of
from setpoint.plane import ControlPlane, PlaneError
from setpoint.server.access.audit.audit_settings import Audit
from setpoint.server.access.flowcontrol.flow_control_settings import FlowControlSettings
from setpoint.server.admission.plugins.deny_privileged_containers import DenyPrivilegedContainers
from setpoint.store.contract import StoreError


def main(arguments: Sequence[str]) -> int:
    """Serves until a signal to stop. Returns the exit code."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        flags = Flags.parse(arguments)
        for name in flags.ignored():
            _log(f"--{name} has no effect here")
        return process.run(lambda stop: _serve(flags, stop))
    except (PlaneError, StoreError, OSError, ValueError) as error:
        _log(str(error))
        return 1


async def _serve(flags: Flags, stop: asyncio.Event) -> None:
    servers = flags.many("etcd-servers")
    store = await store_of(servers)
    if servers and store == "memory":
        _log(f"no etcd at {', '.join(servers)}: objects are kept in memory only")
    nodes = flags.text("nodes", "none")
    plane = ControlPlane(
        store,
        config=_config(flags),
        token=secrets.token_urlsafe(32),
        aggregated_discovery=flags.gate("AggregatedDiscoveryEndpoint"),
        # As with the original, the system controllers belong to another program, unless there are nodes to work for.
        system=nodes != "none",
        nodes=nodes,
    )
    async with plane:
        host, port = flags.text("bind-address", "0.0.0.0"), flags.port("secure-port", 6443)
        await plane.listen(host, port, tls=certificates(flags))
        # Excludes loaded modules from garbage collection.
        gc.freeze()
        await stop.wait()


def _config(flags: Flags) -> Config:
    return Config(
        authentication=authentication(flags),
        authorization=Authorization(mode=_authorization_mode(flags)),
        admission=Admission(
            enabled=tuple(flags.many("enable-admission-plugins")), disabled=tuple(_disabled_plugins(flags))
        ),
        audit=_audit(flags),
        overload=_overload(flags),
        service_cidr=_service_cidr(flags),
        stages=tuple(flags.many("stages")),
    )


def _authorization_mode(flags: Flags) -> AuthorizationMode:
    """Returns the authorization mode.

    Of several modes the most permissive counts, because the approval of one authorizer is enough. Unsupported modes
    (node, ABAC and webhook authorization) would only add to the permissions of RBAC.
    """
    modes = flags.many("authorization-mode", ["AlwaysAllow"])
    supported: tuple[AuthorizationMode, ...] = ("AlwaysAllow", "RBAC", "AlwaysDeny")
    found = [mode for mode in supported if mode in modes]
    for mode in modes:
        if mode not in found:
            _log(f"--authorization-mode={mode} has no effect here")
    return found[0] if found else "RBAC"


def _audit(flags: Flags) -> Audit:
    mode = flags.text("audit-log-mode", "blocking")
    if mode not in ("batch", "blocking", "blocking-strict"):
        raise FlagError(f"--audit-log-mode={mode}: expected batch, blocking or blocking-strict")
    path, policy = flags.text("audit-log-path"), flags.text("audit-policy-file")
    return Audit(
        policy_file=policy,
        # kube-apiserver records no events without a policy.
        log_path=path if policy else "",
        log_max_size=flags.number("audit-log-maxsize", 100),
        log_max_age=flags.number("audit-log-maxage", 0),
        log_max_backup=flags.number("audit-log-maxbackup", 0),
        log_compress=flags.switch("audit-log-compress", False),
        log_mode=cast(Literal["batch", "blocking", "blocking-strict"], mode),
    )


def _overload(flags: Flags) -> FlowControlSettings:
    """Returns the limits of concurrent requests. If both flags are 0 there is no limit, as in kube-apiserver."""
    reads, writes = (
        flags.number(name, default)
        for name, default in (("max-requests-inflight", 400), ("max-mutating-requests-inflight", 200))
    )
    if reads + writes == 0:
        return FlowControlSettings(enabled=False)
    return FlowControlSettings(max_requests_inflight=max(reads, 1), max_mutating_requests_inflight=max(writes, 1))


def _disabled_plugins(flags: Flags) -> list[str]:
    disabled = flags.many("disable-admission-plugins")
    if flags.switch("allow-privileged", False):
        disabled.append(DenyPrivilegedContainers.name)
    return disabled


def _service_cidr(flags: Flags) -> str:
    first, *others = flags.many("service-cluster-ip-range") or ["10.0.0.0/24"]
    if others:
        _log(f"only one IP range of Services is supported; using {first}")
    return first


def _log(text: str) -> None:
    sys.stderr.write(f"kube-apiserver: {text}\n")
