"""Everything that can be chosen about a control plane, as one tree of structs.

The structs say it all: the file, the flags and the documentation are made from them. A field's `Meta` describes it, and
may name its flag (`flag`, where that is not its path), what stands for its value in texts (`metavar`), and that nobody
should see it (`secret`).
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from setpoint.objects.codec import MAX_BODY
from setpoint.server.access.audit.settings import Audit
from setpoint.server.access.authentication.settings import DEFAULT_ISSUER
from setpoint.server.access.flowcontrol.settings import Overload
from setpoint.server.edge.limits import Limits as EdgeLimits

_EDGE = EdgeLimits()
_PATH = {"metavar": "PATH"}


def _seconds(what: str) -> Any:
    return Meta(gt=0, description=f"Seconds: {what}")


class Tls(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """TLS. Without files of somebody else's, the server has an authority and a certificate of its own."""

    names: Annotated[
        tuple[str, ...],
        Meta(
            description="What else clients call the server, for its own certificate.",
            extra={"flag": "--tls-san", "metavar": "NAME"},
        ),
    ] = ()
    certificate_file: Annotated[
        str,
        Meta(description="A certificate that somebody else keeps, in PEM.", extra={"flag": "--tls-cert-file", **_PATH}),
    ] = ""
    private_key_file: Annotated[str, Meta(description="Its private key.", extra=_PATH)] = ""
    client_authority_file: Annotated[
        str,
        Meta(
            description="Authorities whose certificates are users, beside such a certificate.",
            extra={"flag": "--client-ca-file", **_PATH},
        ),
    ] = ""


class ServiceAccounts(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The tokens of service accounts."""

    issuers: Annotated[
        tuple[str, ...],
        Meta(
            min_length=1,
            description="The first is who our tokens are issued by; the others are accepted as well.",
            extra={"flag": "--service-account-issuer", "metavar": "URL"},
        ),
    ] = (DEFAULT_ISSUER,)
    audiences: Annotated[
        tuple[str, ...],
        Meta(
            description="Whom a token must be for to be good here; by default the first issuer.",
            extra={"flag": "--api-audience", "metavar": "NAME"},
        ),
    ] = ()
    signing_key_file: Annotated[
        str,
        Meta(
            description="The private key that tokens are signed with; by default one of our own.",
            extra={"flag": "--service-account-signing-key-file", **_PATH},
        ),
    ] = ""
    verification_key_files: Annotated[
        tuple[str, ...],
        Meta(
            description="Keys that tokens may be signed with besides.",
            extra={"flag": "--service-account-key-file", **_PATH},
        ),
    ] = ()
    jwks_uri: Annotated[
        str,
        Meta(
            description="Where others find our public keys; by default at this server.",
            extra={"flag": "--service-account-jwks-uri", "metavar": "URL"},
        ),
    ] = ""
    max_token_seconds: Annotated[
        int,
        Meta(
            ge=0,
            description="The longest life of a token, in seconds; 0: as long as was asked for.",
            extra={"flag": "--service-account-max-token-seconds"},
        ),
    ] = 0
    extend_token_expiration: Annotated[
        bool,
        Meta(
            description="Whether the tokens of pods live on for a year after they should have been replaced.",
            extra={"flag": "--service-account-extend-token-expiration"},
        ),
    ] = True


class Oidc(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """An issuer of OpenID Connect whose ID tokens are accepted."""

    issuer: Annotated[str, Meta(pattern="^https://", description="Exactly as its tokens say it.")]
    audiences: Annotated[
        tuple[str, ...], Meta(min_length=1, description="The client IDs, one of which a token must be for.")
    ]
    username_claim: Annotated[str, Meta(description="The claim that names the user.")] = "sub"
    username_prefix: Annotated[
        str,
        Meta(description="Put before user names; by default the issuer and #, but for email; `-` for nothing."),
    ] = ""
    groups_claim: Annotated[str, Meta(description="The claim that names the groups.")] = ""
    groups_prefix: Annotated[str, Meta(description="Put before the names of groups.")] = ""
    required_claims: Annotated[dict[str, str], Meta(description="Claims that a token must have.")] = {}
    authority_file: Annotated[str, Meta(description="The authorities that its certificate may be of, in PEM.")] = ""
    signing_algorithms: Annotated[tuple[str, ...], Meta(description="What tokens may be signed with.")] = ("RS256",)


class Authentication(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Who is known, beside the administrator and who has a certificate of our authority."""

    anonymous: Annotated[
        Literal["health", "always", "never"],
        Meta(
            description="Who brings no credentials may ask about health and version; is system:anonymous everywhere; "
            "or is never let in.",
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
        Meta(description="Issuers of OpenID Connect.", extra={"flag": "--oidc", "metavar": "YAML"}),
    ] = ()


class Authorization(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Who may do what."""

    mode: Annotated[
        Literal["RBAC", "AlwaysAllow", "AlwaysDeny"],
        Meta(
            description="Whether roles decide, or everybody may do everything, or nobody but administrators anything."
        ),
    ] = "RBAC"


class Admission(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The rules that writes are held to."""

    enabled: Annotated[
        tuple[str, ...],
        Meta(
            description="Plugins to have that are off by default.",
            extra={"flag": "--enable-admission-plugins", "metavar": "NAME"},
        ),
    ] = ()
    disabled: Annotated[
        tuple[str, ...],
        Meta(description="Plugins to do without.", extra={"flag": "--disable-admission-plugins", "metavar": "NAME"}),
    ] = ()


class Webhooks(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Webhooks."""

    services: Annotated[
        dict[str, str],
        Meta(
            description="Where the services are that webhooks refer to: namespace/name to host:port.",
            extra={"flag": "--webhook-service", "metavar": "NAMESPACE/NAME=HOST:PORT"},
        ),
    ] = {}


class Limits(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What one client may ask of the edge: sizes, and how long each step may take."""

    head_bytes: Annotated[int, Meta(ge=1024, description="Of a request line and its headers.")] = _EDGE.head_bytes
    body_bytes: Annotated[int, Meta(ge=1024, le=MAX_BODY, description="Of the body of a request.")] = MAX_BODY
    request_seconds: Annotated[float, _seconds("from the first byte of a request to its last.")] = _EDGE.request_seconds
    answer_seconds: Annotated[float, _seconds("from a request to its answer.")] = _EDGE.answer_seconds
    write_seconds: Annotated[float, _seconds("the same for a POST, PUT or PATCH.")] = _EDGE.write_seconds
    idle_seconds: Annotated[float, _seconds("between two requests on a connection.")] = _EDGE.idle_seconds
    stalled_seconds: Annotated[float, _seconds("a peer that takes nothing of its answer.")] = _EDGE.stalled_seconds
    handshake_seconds: Annotated[float, _seconds("a TLS handshake.")] = _EDGE.handshake_seconds
    stream_bytes: Annotated[
        int, Meta(ge=1024, description="What may wait unsent on a watch before its reader counts as too slow.")
    ] = _EDGE.stream_bytes


class History(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """How much of the past is kept. What is null is not a bound; if all are, the store's own defaults hold."""

    seconds: Annotated[float | None, Meta(description="How old it may be.")] = None
    revisions: Annotated[int | None, Meta(description="How many revisions.")] = None
    size: Annotated[int | None, Meta(description="How many bytes.")] = None
    secret_seconds: Annotated[
        float | None,
        Meta(
            description="How long a value of a Secret is kept after it was replaced or deleted; then it is purged. "
            "Not with a store in etcd."
        ),
    ] = None


class Config(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A control plane."""

    listen: Annotated[str, Meta(description="Where; port 0 picks a free one.", extra={"metavar": "HOST:PORT"})] = (
        "127.0.0.1:6443"
    )
    unix: Annotated[str, Meta(description="Serve at a unix socket as well.", extra=_PATH)] = ""
    plain_http: Annotated[bool, Meta(description="Without TLS; on loopback addresses only.")] = False
    tls: Tls = Tls()
    store: Annotated[str, Meta(description="memory, sqlite:PATH or etcd:URL.", extra={"metavar": "STORE"})] = "memory"
    data: Annotated[
        str,
        Meta(
            description="Where authority, keys and token are kept; by default beside the SQLite file.",
            extra={"metavar": "DIR"},
        ),
    ] = ""
    kubeconfig: Annotated[
        str,
        Meta(
            description="The kubeconfig to write; by default in the data directory, or in the user's state.",
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
            description="The addresses for Services.",
            extra={"flag": "--service-cluster-ip-range", "metavar": "CIDR"},
        ),
    ] = "10.0.0.0/16"
    history_window_seconds: Annotated[
        float,
        Meta(
            ge=0,
            description="How long a list or watch may reach back without the right to the history.",
            extra={"flag": "--history-window-seconds"},
        ),
    ] = 300.0
    event_ttl_seconds: Annotated[
        float, Meta(ge=1, description="How long Events are kept.", extra={"flag": "--event-ttl-seconds"})
    ] = 3600.0
    controllers: Annotated[
        tuple[str, ...],
        Meta(
            description="The system controllers to run; * stands for all, -NAME is one to do without, -* for none.",
            extra={"flag": "--controllers", "metavar": "NAME"},
        ),
    ] = ("*",)
    workloads: Annotated[
        bool, Meta(description="Run processes, containers and services.", extra={"flag": "--workloads"})
    ] = False
    authentication: Authentication = Authentication()
    authorization: Authorization = Authorization()
    admission: Admission = Admission()
    webhooks: Webhooks = Webhooks()
    audit: Audit = Audit()
    overload: Overload = Overload()
    limits: Limits = Limits()
    history: History = History()
