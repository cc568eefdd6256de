"""What the audit log never shows: secrets, at no level, whatever the policy says.

Of a Secret, and of a review or request of a token, only what is known to be harmless is shown: the names of the keys,
the metadata, who asks for how long. That holds for whatever is sent to the endpoints of these, whatever it claims to
be, and for whatever claims to be one of these, wherever it is sent.
"""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote_plus

from setpoint.objects.tree import Json, Object
from setpoint.server.requestinfo import RequestInfo

REDACTED: Final = "<redacted>"

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_PLAIN = frozenset(("apiVersion", "kind", "metadata"))
# By kind: the fields that are shown, and which of their own fields; None for a field that is shown whole.
_SHOWN: Mapping[str, Mapping[str, frozenset[str] | None]] = {
    "Secret": {"type": None, "immutable": None},
    "TokenReview": {
        "spec": frozenset(("audiences",)),
        "status": frozenset(("authenticated", "user", "audiences", "error")),
    },
    "TokenRequest": {
        "spec": frozenset(("audiences", "expirationSeconds", "boundObjectRef")),
        "status": frozenset(("expirationTimestamp",)),
    },
}
# Of these the names of the keys are shown, and nothing else.
_KEYED = frozenset(("data", "stringData"))
_SECRET_NAME = re.compile("token|secret|passw|authorization|credential|api_?-?key|signature|bearer", re.IGNORECASE)


def secret_kind(info: RequestInfo) -> str:
    """The kind of secret that an endpoint is about; empty for most."""
    if info.resource == "secrets" and not info.group:
        return "Secret"
    if info.resource == "tokenreviews":
        return "TokenReview"
    return "TokenRequest" if info.resource == "serviceaccounts" and info.subresource == "token" else ""


def redacted(tree: Json, kind: str = "") -> Json:
    """A body without secrets; `kind` is what its endpoint is about, if that is secret. The tree itself stays as it
    is."""
    if type(tree) is list:  # a JSON patch
        return [_operation(item) if kind else item for item in tree]
    if type(tree) is not dict:
        return REDACTED if kind else tree
    claimed = tree.get("kind")
    if claimed == "Status":
        return tree
    if type(tree.get("items")) is list:
        inner = kind or (claimed.removesuffix("List") if type(claimed) is str else "")
        items = [redacted(item, inner if inner in _SHOWN else "") for item in tree["items"]]
        return {**tree, "items": items}
    if claimed == "Table" and type(tree.get("rows")) is list:
        return {**tree, "rows": [_row(row, kind) for row in tree["rows"]]}
    secret = kind or (claimed if type(claimed) is str and claimed in _SHOWN else "")
    return _object(tree, _SHOWN[secret]) if secret else tree


def _row(row: Json, kind: str) -> Json:
    return {**row, "object": redacted(row["object"], kind)} if type(row) is dict and "object" in row else row


def _operation(item: Json) -> Json:
    if type(item) is not dict:
        return REDACTED
    shown = {name: value for name, value in item.items() if name in ("op", "path", "from")}
    return {**shown, "value": REDACTED} if "value" in item else shown


def _object(tree: Object, shown: Mapping[str, frozenset[str] | None]) -> Object:
    made: Object = {}
    for name, value in tree.items():
        if name == "metadata":
            made[name] = _metadata(value)
        elif name in _PLAIN:
            made[name] = value if type(value) is str else REDACTED
        elif name in _KEYED:
            made[name] = dict.fromkeys(value, REDACTED) if type(value) is dict else REDACTED
        elif name not in shown:
            made[name] = REDACTED
        elif (fields := shown[name]) is None:
            made[name] = value if type(value) in (str, bool) else REDACTED
        elif type(value) is dict:
            made[name] = {key: inner if key in fields else REDACTED for key, inner in value.items()}
        else:
            made[name] = REDACTED
    return made


def _metadata(value: Json) -> Json:
    if type(value) is not dict:
        return REDACTED
    annotations = value.get("annotations")
    if type(annotations) is dict and _LAST_APPLIED in annotations:
        return {**value, "annotations": {**annotations, _LAST_APPLIED: REDACTED}}
    return value


def redacted_query(query: str) -> str:
    """A query without the values of what may be a secret: some clients send their token where everybody can see it."""
    if not _SECRET_NAME.search(unquote_plus(query)):
        return query
    return "&".join(map(_parameter, query.split("&")))


def _parameter(text: str) -> str:
    name, equals, _ = text.partition("=")
    return f"{name}{equals}{REDACTED}" if equals and _SECRET_NAME.search(unquote_plus(name)) else text
