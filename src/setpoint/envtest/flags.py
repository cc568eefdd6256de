"""The flags of kube-apiserver: how they are written, which of them count here, and what the help says of them.

A flag that nobody knows, or that is known and changes nothing here, is no error: a suite that asks for more than we
have should still run, and be told.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class FlagError(ValueError):
    """A flag was given a value that it cannot have; the text names both."""


class Flag(NamedTuple):
    """One flag: what kind of value it takes, and what it does."""

    kind: str
    text: str


# Those that count.
HONOURED: Mapping[str, Flag] = {
    "allow-privileged": Flag("bool", "Whether containers may ask for privileges (false)."),
    "anonymous-auth": Flag("bool", "Whether requests without credentials are let in as system:anonymous (true)."),
    "api-audiences": Flag("strings", "Whom tokens of service accounts must be for (the issuer)."),
    "audit-log-compress": Flag("bool", "Whether old files of the audit log are compressed (false)."),
    "audit-log-maxage": Flag("int", "Days that they are kept (for ever)."),
    "audit-log-maxbackup": Flag("int", "How many are kept (all)."),
    "audit-log-maxsize": Flag("int", "Megabytes after which a new one is begun (100)."),
    "audit-log-mode": Flag("string", "batch, blocking or blocking-strict (blocking)."),
    "audit-log-path": Flag("string", "The file of the audit log; - is the standard output."),
    "audit-policy-file": Flag("string", "What the audit log records of which requests."),
    "authorization-mode": Flag("strings", "AlwaysAllow, RBAC or AlwaysDeny (AlwaysAllow)."),
    "bind-address": Flag("ip", "The address to serve at (0.0.0.0)."),
    "cert-dir": Flag("string", "Where apiserver.crt and apiserver.key are, or are made."),
    "client-ca-file": Flag("string", "The authorities whose certificates are users, by CN and O."),
    "disable-admission-plugins": Flag("strings", "Admission plugins to do without."),
    "enable-admission-plugins": Flag("strings", "Admission plugins to have that are off by default."),
    "etcd-servers": Flag("strings", "The etcd of these assets, or a real one."),
    "feature-gates": Flag("mapStringBool", "AggregatedDiscoveryEndpoint=false counts; others are accepted."),
    "max-mutating-requests-inflight": Flag("int", "Writes that are served at once (200)."),
    "max-requests-inflight": Flag("int", "Reads that are served at once (400)."),
    "oidc-ca-file": Flag("string", "The authorities of the OpenID issuer."),
    "oidc-client-id": Flag("string", "Whom its tokens must be for."),
    "oidc-groups-claim": Flag("string", "The claim with the groups of a user."),
    "oidc-groups-prefix": Flag("string", "What stands before each group."),
    "oidc-issuer-url": Flag("string", "An OpenID issuer whose tokens are accepted."),
    "oidc-required-claim": Flag("mapStringString", "Claims that a token must have, as name=value."),
    "oidc-signing-algs": Flag("strings", "The algorithms that tokens may be signed with (RS256)."),
    "oidc-username-claim": Flag("string", "The claim with the name of the user (sub)."),
    "oidc-username-prefix": Flag("string", "What stands before each name."),
    "secure-port": Flag("int", "The port to serve at (6443)."),
    "service-account-issuer": Flag("strings", "Who issues the tokens of service accounts; others are accepted too."),
    "service-account-jwks-uri": Flag("string", "Where the keys of service accounts are said to be."),
    "service-account-key-file": Flag("strings", "Keys that the tokens of service accounts may be signed with."),
    "service-account-signing-key-file": Flag("string", "The key that they are signed with."),
    "service-cluster-ip-range": Flag("string", "The addresses that Services are given (10.0.0.0/24)."),
    "tls-cert-file": Flag("string", "The certificate to serve with, instead of the one in --cert-dir."),
    "tls-private-key-file": Flag("string", "The key of --tls-cert-file."),
    "token-auth-file": Flag("string", "Lines of token,user,uid,groups."),
}

# Those that a test server has no use for: what they ask for is so anyway, or nobody can tell.
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
    """What a command line says."""

    def __init__(self, given: Mapping[str, Sequence[str]]) -> None:
        self._given = given

    @classmethod
    def parse(cls, arguments: Sequence[str]) -> "Flags":
        """Reads flags as kube-apiserver does: `--name=value`, `--name value`, or `--name` alone for a switch."""
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
        """The value of a flag that has one; given several times, the last counts."""
        return self._given[name][-1] if name in self._given else default

    def many(self, name: str, default: Iterable[str] = ()) -> list[str]:
        """The values of a flag that has many, in one or apart, with commas or without."""
        if name not in self._given:
            return list(default)
        return [part.strip() for value in self._given[name] for part in value.split(",") if part.strip()]

    def gate(self, feature: str) -> bool:
        """Whether a feature is on, as it is unless `--feature-gates` says otherwise; the last word counts."""
        words = [part.partition("=") for part in self.many("feature-gates")]
        return ([value.strip().lower() in _TRUE for name, _, value in words if name.strip() == feature] or [True])[-1]

    def switch(self, name: str, default: bool) -> bool:
        value = self.text(name, str(default)).lower()
        if value not in (*_TRUE, *_FALSE):
            raise FlagError(f"--{name}={value}: it should be true or false")
        return value in _TRUE

    def number(self, name: str, default: int) -> int:
        value = self.text(name, str(default))
        if not (value.isascii() and value.isdecimal() and len(value) < 10):
            raise FlagError(f"--{name}={value}: it should be a number")
        return int(value)

    def port(self, name: str, default: int) -> int:
        value = self.number(name, default)
        if not 0 < value < 65536:
            raise FlagError(f"--{name}={value}: it should be a port, 1 to 65535")
        return value

    def ignored(self) -> list[str]:
        """The flags that were given and change nothing."""
        return sorted(name for name in self._given if name not in HONOURED and name not in SILENT)


def help_text() -> str:
    """What `kube-apiserver --help` prints. envtest looks there for flags that came and went."""
    lines = [
        "Setpoint in the place of kube-apiserver, for tests.",
        "",
        "Usage:",
        "  kube-apiserver [flags]",
        "",
        "Flags:",
    ]
    for name, flag in sorted(HONOURED.items()):
        lines.append(f"      --{name} {flag.kind}".ljust(44) + f"  {flag.text}")
    lines += ["", "Other flags of kube-apiserver are accepted; those that would matter are named at the start."]
    return "\n".join(lines) + "\n"
