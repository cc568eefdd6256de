"""All settings of a control plane, as one tree of structs.

The file format, the flags and the documentation are generated from the structs. A field's `Meta` describes the field,
and may define its flag (`flag`, if different from its path), the placeholder of its value in help texts (`metavar`),
and that its value must be masked (`secret`).
"""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from setpoint.objects.codec import MAX_BODY
from setpoint.server.access.audit.audit_settings import Audit
from setpoint.server.access.authentication.settings import DEFAULT_ISSUER
from setpoint.server.access.flowcontrol.flow_control_settings import FlowControlSettings
from setpoint.server.edge.limits import Limits as EdgeLimits
from setpoint.telemetry.settings import TelemetrySettings
from setpoint.workload.usage_settings import UsageSettings

_EDGE = EdgeLimits()
_PATH = {"metavar": "PATH"}

AuthorizationMode: TypeAlias = Literal["RBAC", "AlwaysAllow", "AlwaysDeny"]


def _seconds(what: str) -> Any:
    return Meta(gt=0, description=f"Seconds: {what}")


class Tls(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """TLS. Without certificate files, the server creates its own authority and certificate."""

    names: Annotated[
        tuple[str, ...],
        Meta(
            description="Additional names of the server, for the certificate that it creates.",
            extra={"flag": "--tls-san", "metavar": "NAME"},
        ),
    ] = ()
    certificate_file: Annotated[
        str,
        Meta(description="The server certificate in PEM.", extra={"flag": "--tls-cert-file", **_PATH}),
    ] = ""
    private_key_file: Annotated[str, Meta(description="The private key of the certificate.", extra=_PATH)] = ""
    client_authority_file: Annotated[
        str,
        Meta(
            description="Authorities whose client certificates authenticate users; requires certificateFile.",
            extra={"flag": "--client-ca-file", **_PATH},
        ),
    ] = ""


class ServiceAccounts(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The tokens of service accounts."""

    issuers: Annotated[
        tuple[str, ...],
        Meta(
            min_length=1,
            description="Issuers of accepted tokens; the first one is the issuer of new tokens.",
            extra={"flag": "--service-account-issuer", "metavar": "URL"},
        ),
    ] = (DEFAULT_ISSUER,)
    audiences: Annotated[
        tuple[str, ...],
        Meta(
            description="Accepted audiences of tokens; by default the first issuer.",
            extra={"flag": "--api-audience", "metavar": "NAME"},
        ),
    ] = ()
    signing_key_file: Annotated[
        str,
        Meta(
            description="The private key that signs tokens; by default a generated one.",
            extra={"flag": "--service-account-signing-key-file", **_PATH},
        ),
    ] = ""
    verification_key_files: Annotated[
        tuple[str, ...],
        Meta(
            description="Additional keys that verify tokens.",
            extra={"flag": "--service-account-key-file", **_PATH},
        ),
    ] = ()
    jwks_uri: Annotated[
        str,
        Meta(
            description="The URL of the public keys (JWKS); by default served by this server.",
            extra={"flag": "--service-account-jwks-uri", "metavar": "URL"},
        ),
    ] = ""
    max_token_seconds: Annotated[
        int,
        Meta(
            ge=0,
            description="The longest lifetime of a token, in seconds; 0: as requested.",
            extra={"flag": "--service-account-max-token-seconds"},
        ),
    ] = 0
    extend_token_expiration: Annotated[
        bool,
        Meta(
            description="Keep the tokens of pods valid for a year after they should have been rotated.",
            extra={"flag": "--service-account-extend-token-expiration"},
        ),
    ] = True


class Oidc(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """An OpenID Connect issuer whose ID tokens are accepted."""

    issuer: Annotated[str, Meta(pattern="^https://", description="The issuer URL, exactly as in the `iss` claim.")]
    audiences: Annotated[
        tuple[str, ...], Meta(min_length=1, description="The client IDs; a token must be issued for one of them.")
    ]
    username_claim: Annotated[str, Meta(description="The claim that names the user.")] = "sub"
    username_prefix: Annotated[
        str,
        Meta(description="Prefix of user names; default: the issuer and #, except for email; `-`: no prefix."),
    ] = ""
    groups_claim: Annotated[str, Meta(description="The claim that names the groups.")] = ""
    groups_prefix: Annotated[str, Meta(description="Prefix of group names.")] = ""
    required_claims: Annotated[dict[str, str], Meta(description="Claims that a token must have.")] = {}
    authority_file: Annotated[str, Meta(description="The CA certificates of the issuer, in PEM.")] = ""
    signing_algorithms: Annotated[tuple[str, ...], Meta(description="Accepted signing algorithms.")] = ("RS256",)


class Authentication(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Authentication methods beside the administrator's token and client certificates of the server's own authority."""

    anonymous: Annotated[
        Literal["health", "always", "never"],
        Meta(
            description="Requests without credentials: allowed for health and version only; accepted everywhere as "
            "system:anonymous; or always rejected.",
            extra={"flag": "--anonymous-auth"},
        ),
    ] = "health"
    token_file: Annotated[
        str,
        Meta(
            description='Lines of token,user,uid,"group1,group2".',
            extra={"flag": "--token-auth-file", **_PATH},
        ),
    ] = ""
    service_accounts: ServiceAccounts = ServiceAccounts()
    oidc: Annotated[
        tuple[Oidc, ...],
        Meta(description="OpenID Connect issuers.", extra={"flag": "--oidc", "metavar": "YAML"}),
    ] = ()


class Authorization(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Authorization."""

    mode: Annotated[
        AuthorizationMode,
        Meta(description="Decide by roles, allow every request, or deny all requests except those of administrators."),
    ] = "RBAC"


class Admission(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Admission plugins."""

    enabled: Annotated[
        tuple[str, ...],
        Meta(
            description="Plugins to enable beside the default ones.",
            extra={"flag": "--enable-admission-plugins", "metavar": "NAME"},
        ),
    ] = ()
    disabled: Annotated[
        tuple[str, ...],
        Meta(description="Plugins to disable.", extra={"flag": "--disable-admission-plugins", "metavar": "NAME"}),
    ] = ()


class Webhooks(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Webhooks."""

    services: Annotated[
        dict[str, str],
        Meta(
            description="Addresses of the services of webhooks and APIServices: namespace/name to host:port.",
            extra={"flag": "--webhook-service", "metavar": "NAMESPACE/NAME=HOST:PORT"},
        ),
    ] = {}


class Limits(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Limits of a client connection: sizes, and the time for each step."""

    head_bytes: Annotated[int, Meta(ge=1024, description="Maximum size of line and headers.")] = _EDGE.head_bytes
    body_bytes: Annotated[int, Meta(ge=1024, le=MAX_BODY, description="Maximum size of a request body.")] = MAX_BODY
    request_seconds: Annotated[float, _seconds("from the first byte of a request to its last.")] = _EDGE.request_seconds
    answer_seconds: Annotated[float, _seconds("from a request to its response.")] = _EDGE.answer_seconds
    write_seconds: Annotated[float, _seconds("the same for a POST, PUT or PATCH.")] = _EDGE.write_seconds
    idle_seconds: Annotated[float, _seconds("between two requests on a connection.")] = _EDGE.idle_seconds
    stalled_seconds: Annotated[float, _seconds("a client that reads no part of its response.")] = _EDGE.stalled_seconds
    handshake_seconds: Annotated[float, _seconds("a TLS handshake.")] = _EDGE.handshake_seconds
    stream_bytes: Annotated[
        int, Meta(ge=1024, description="Unsent bytes of a watch before its client is disconnected as too slow.")
    ] = _EDGE.stream_bytes


class History(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Retention of the history. A field that is null sets no bound; if all are null, the store's defaults apply."""

    seconds: Annotated[float | None, Meta(description="Maximum age in seconds.")] = None
    revisions: Annotated[int | None, Meta(description="Maximum number of revisions.")] = None
    size: Annotated[int | None, Meta(description="Maximum size in bytes.")] = None
    secret_seconds: Annotated[
        float | None,
        Meta(
            description="Seconds until a replaced or deleted value of a Secret is purged from the history.  "
            "Not supported with etcd."
        ),
    ] = None


class Config(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A control plane."""

    listen: Annotated[str, Meta(description="Listen address; port 0: any free.", extra={"metavar": "HOST:PORT"})] = (
        "127.0.0.1:6443"
    )
    unix: Annotated[str, Meta(description="Also listen on a unix socket.", extra=_PATH)] = ""
    plain_http: Annotated[bool, Meta(description="Serve without TLS; on loopback addresses only.")] = False
    tls: Tls = Tls()
    store: Annotated[str, Meta(description="memory, sqlite:PATH or etcd:URL.", extra={"metavar": "STORE"})] = "memory"
    data: Annotated[
        str,
        Meta(
            description="The directory of the authority, keys and token; by default beside the SQLite file.",
            extra={"metavar": "DIR"},
        ),
    ] = ""
    identity_key: Annotated[
        str,
        Meta(
            description="A file with at least 32 random bytes, which encrypts the authority, keys and token that the "
            "servers of an etcd share; the same for all of them.",
            extra={"flag": "--identity-key", "metavar": "FILE"},
        ),
    ] = ""
    kubeconfig: Annotated[
        str,
        Meta(
            description="The kubeconfig to write; by default in the data directory, or the user's state directory.",
            extra=_PATH,
        ),
    ] = ""
    token: Annotated[
        str,
        Meta(
            description="The administrator's token; or set SETPOINT_TOKEN.",
            extra={"secret": True, "env": "SETPOINT_TOKEN"},
        ),
    ] = ""
    service_cidr: Annotated[
        str,
        Meta(
            description="The IP range of Services.",
            extra={"flag": "--service-cluster-ip-range", "metavar": "CIDR"},
        ),
    ] = "10.0.0.0/16"
    history_window_seconds: Annotated[
        float,
        Meta(
            ge=0,
            description="Seconds that a list or watch may go back in time without permission to read the history.",
            extra={"flag": "--history-window-seconds"},
        ),
    ] = 300.0
    state_cache_bytes: Annotated[
        int,
        Meta(
            ge=0,
            description="Bytes of objects that the server keeps in memory, for SQLite and etcd; other objects are read "
            "from the store. 0 is none.",
            extra={"flag": "--state-cache-bytes", "metavar": "BYTES"},
        ),
    ] = 256 * 1024 * 1024
    event_ttl_seconds: Annotated[
        float, Meta(ge=1, description="Seconds that Events are kept.", extra={"flag": "--event-ttl-seconds"})
    ] = 3600.0
    controllers: Annotated[
        tuple[str, ...],
        Meta(
            description="The system controllers to run; with commas too; * for the defaults, -NAME to exclude one, "
            "-* for none.",
            extra={"flag": "--controllers", "metavar": "NAME"},
        ),
    ] = ("*",)
    nodes: Annotated[
        str,
        Meta(
            description="The nodes for pods: none, or simulated ones, with the controllers of Kubernetes' workloads "
            "and a scheduler: simulated, simulated:N; with ,events at the end, they record the events of a kubelet.",
            extra={"flag": "--nodes", "metavar": "NODES"},
        ),
    ] = "none"
    stages: Annotated[
        tuple[str, ...],
        Meta(
            description="Files with Stages of KWOK for the objects of simulated nodes; api for Stage objects.",
            extra={"flag": "--stages", "metavar": "FILE"},
        ),
    ] = ()
    workloads: Annotated[
        bool, Meta(description="Run processes, containers and services.", extra={"flag": "--workloads"})
    ] = False
    authentication: Authentication = Authentication()
    authorization: Authorization = Authorization()
    admission: Admission = Admission()
    webhooks: Webhooks = Webhooks()
    audit: Audit = Audit()
    overload: FlowControlSettings = FlowControlSettings()
    limits: Limits = Limits()
    history: History = History()
    telemetry: TelemetrySettings = TelemetrySettings()
    usage: UsageSettings = UsageSettings()
