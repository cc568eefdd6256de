"""The flags of kube-apiserver: their syntax, the supported ones, and the help text.

An unknown flag, or a known flag without effect here, is not an error: a suite that asks for more should still run, with
a notice.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class FlagError(ValueError):
    """A flag has an invalid value; the message names both."""


class Flag(NamedTuple):
    """One flag: the type of its value, and its description."""

    kind: str
    text: str


# The supported flags.
HONOURED: Mapping[str, Flag] = {
    "allow-privileged": Flag("bool", "Allow privileged containers (false)."),
    "anonymous-auth": Flag("bool", "Accept requests without credentials as system:anonymous (true)."),
    "api-audiences": Flag("strings", "Accepted audiences of service account tokens (the issuer)."),
    "audit-log-compress": Flag("bool", "Compress rotated audit log files (false)."),
    "audit-log-maxage": Flag("int", "Days to keep rotated audit log files (forever)."),
    "audit-log-maxbackup": Flag("int", "Number of rotated audit log files to keep (all)."),
    "audit-log-maxsize": Flag("int", "Size in megabytes at which the audit log is rotated (100)."),
    "audit-log-mode": Flag("string", "batch, blocking or blocking-strict (blocking)."),
    "audit-log-path": Flag("string", "The audit log file; - for standard output."),
    "audit-policy-file": Flag("string", "The audit policy file."),
    "authorization-mode": Flag("strings", "AlwaysAllow, RBAC or AlwaysDeny (AlwaysAllow)."),
    "bind-address": Flag("ip", "The address to listen on (0.0.0.0)."),
    "cert-dir": Flag("string", "Directory of apiserver.crt and apiserver.key, created if missing."),
    "client-ca-file": Flag("string", "Authorities whose client certificates authenticate users, by CN and O."),
    "disable-admission-plugins": Flag("strings", "Admission plugins to disable."),
    "enable-admission-plugins": Flag("strings", "Admission plugins to enable beside the default ones."),
    "etcd-servers": Flag("strings", "The etcd of these assets, or a real etcd."),
    "feature-gates": Flag("mapStringBool", "Only AggregatedDiscoveryEndpoint=false has an effect."),
    "max-mutating-requests-inflight": Flag("int", "Maximum concurrent writes (200)."),
    "max-requests-inflight": Flag("int", "Maximum concurrent reads (400)."),
    "nodes": Flag("string", "Simulated nodes, with Kubernetes' controllers: none, simulated, simulated:N (none)."),
    "oidc-ca-file": Flag("string", "CA certificates of the OpenID issuer."),
    "oidc-client-id": Flag("string", "The client ID that tokens must be issued for."),
    "oidc-groups-claim": Flag("string", "The claim that contains the user's groups."),
    "oidc-groups-prefix": Flag("string", "Prefix of group names."),
    "oidc-issuer-url": Flag("string", "An OpenID issuer whose tokens are accepted."),
    "oidc-required-claim": Flag("mapStringString", "Claims that a token must have, as name=value."),
    "oidc-signing-algs": Flag("strings", "Accepted signing algorithms (RS256)."),
    "oidc-username-claim": Flag("string", "The claim that contains the user name (sub)."),
    "oidc-username-prefix": Flag("string", "Prefix of user names."),
    "secure-port": Flag("int", "The port to listen on (6443)."),
    "service-account-issuer": Flag("strings", "Issuers of service account tokens; the first issues new ones."),
    "service-account-jwks-uri": Flag("string", "The published URL of the service account keys (JWKS)."),
    "service-account-key-file": Flag("strings", "Keys that verify service account tokens."),
    "service-account-signing-key-file": Flag("string", "The key that signs service account tokens."),
    "service-cluster-ip-range": Flag("string", "The IP range of Services (10.0.0.0/24)."),
    "stages": Flag("strings", "Files with Stages of KWOK for simulated nodes; api for Stage objects."),
    "tls-cert-file": Flag("string", "The serving certificate, instead of the one in --cert-dir."),
    "tls-private-key-file": Flag("string", "The key of --tls-cert-file."),
    "token-auth-file": Flag("string", "Lines of token,user,uid,groups."),
}

# Flags that are accepted silently: they are always satisfied, or have no visible effect in a test server.
SILENT = frozenset(
    (
        "advertise-address",
        "enable-aggregator-routing",
        "endpoint-reconciler-type",
        "event-ttl",
        "profiling",
        "shutdown-delay-duration",
        "storage-backend",
        "storage-media-type",
        "v",
        "vmodule",
        "watch-cache",
    )
)

_TRUE = ("true", "t", "1")
_FALSE = ("false", "f", "0")


class Flags:
    """The flags of a command line."""

    def __init__(self, given: Mapping[str, Sequence[str]]) -> None:
        self._values = given

    @classmethod
    def parse(cls, arguments: Sequence[str]) -> "Flags":
        """Parses flags as kube-apiserver does: `--name=value`, `--name value`, or `--name` alone for a boolean."""
        given: dict[str, list[str]] = {}
        rest = list(reversed(arguments))
        while rest:
            argument = rest.pop()
            if not argument.startswith("-") or not argument.strip("-"):
                raise FlagError(f"unexpected argument {argument!r}: kube-apiserver takes flags only")
            name, equals, value = argument.lstrip("-").partition("=")
            name = name.replace("_", "-")
            if not equals:
                is_switch = name in HONOURED and HONOURED[name].kind == "bool"
                follows = rest and (rest[-1] == "-" or not rest[-1].startswith("-"))
                value = rest.pop() if follows and not is_switch else "true"
            given.setdefault(name, []).append(value)
        return cls(given)

    def text(self, name: str, default: str = "") -> str:
        """Returns the value of a flag. If given several times, the last one counts."""
        return self._values[name][-1] if name in self._values else default

    def many(self, name: str, default: Iterable[str] = ()) -> list[str]:
        """Returns the values of a flag that may be repeated or has comma-separated values."""
        if name not in self._values:
            return list(default)
        return [part.strip() for value in self._values[name] for part in value.split(",") if part.strip()]

    def gate(self, feature: str) -> bool:
        """Returns True unless `--feature-gates` disables the feature. The last value counts."""
        words = [part.partition("=") for part in self.many("feature-gates")]
        return ([value.strip().lower() in _TRUE for name, _, value in words if name.strip() == feature] or [True])[-1]

    def switch(self, name: str, default: bool) -> bool:
        value = self.text(name, str(default)).lower()
        if value not in (*_TRUE, *_FALSE):
            raise FlagError(f"--{name}={value}: expected true or false")
        return value in _TRUE

    def number(self, name: str, default: int) -> int:
        value = self.text(name, str(default))
        if not (value.isascii() and value.isdecimal() and len(value) < 10):
            raise FlagError(f"--{name}={value}: expected a number")
        return int(value)

    def port(self, name: str, default: int) -> int:
        value = self.number(name, default)
        if not 0 < value < 65536:
            raise FlagError(f"--{name}={value}: expected a port from 1 to 65535")
        return value

    def ignored(self) -> list[str]:
        """Returns the given flags that have no effect."""
        return sorted(name for name in self._values if name not in HONOURED and name not in SILENT)


def help_text() -> str:
    """Returns the text of `kube-apiserver --help`. envtest looks there for flags that depend on the version."""
    lines = [
        "Setpoint's replacement of kube-apiserver, for tests.",
        "",
        "Usage:",
        "  kube-apiserver [flags]",
        "",
        "Flags:",
    ]
    for name, flag in sorted(HONOURED.items()):
        lines.append(f"      --{name} {flag.kind}".ljust(44) + f"  {flag.text}")
    lines += ["", "Other flags of kube-apiserver are accepted without effect; relevant ones are listed at the start."]
    return "\n".join(lines) + "\n"
