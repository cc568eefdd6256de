"""Removes secrets from audit events at every level, independent of the policy.

For Secrets, TokenReviews and TokenRequests, only fields known to be harmless are shown: the names of the keys, the
metadata, the requested audiences and lifetime. This applies to every body sent to the endpoints of these kinds, and to
every object that claims one of these kinds, at any endpoint and at any depth inside another object. Responses of the
`setpoint.dev` group contain past states of every kind in other forms, such as patches, so only their metadata is shown.
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
# By kind: the fields that are shown, with their visible subfields; None for a field that is shown as a whole.
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
_NOTHING: Mapping[str, frozenset[str] | None] = {}
# Fields that are shown as their keys without values.
_KEYED = frozenset(("data", "stringData"))
_SECRET_WORD = re.compile("Secret|TokenRe(?:view|quest)")
_OWN_GROUP = "setpoint.dev"
_SECRET_NAME = re.compile("token|secret|passw|authorization|credential|api_?-?key|signature|bearer", re.IGNORECASE)


def secret_kind(info: RequestInfo) -> str:
    """Returns the secret kind that an endpoint serves, or an empty string for other endpoints."""
    if info.resource == "secrets" and info.group in ("", _OWN_GROUP):
        return "Secret"
    if info.resource == "tokenreviews":
        return "TokenReview"
    return "TokenRequest" if info.resource == "serviceaccounts" and info.subresource == "token" else ""


def is_proxied(info: RequestInfo) -> bool:
    """Returns True if the request is proxied, so that its bodies may contain arbitrary data."""
    return info.subresource == "proxy"


def answered_by(info: RequestInfo, tree: Json) -> Json:
    """Returns the part of a response that may be shown for its endpoint, before its objects are redacted."""
    if info.group != _OWN_GROUP or type(tree) is not dict or tree.get("kind") == "Status":
        return tree
    return {name: value for name, value in tree.items() if name in _PLAIN}


def redacted(tree: Json, kind: str = "") -> Json:
    """Returns a body without secrets. `kind` is the secret kind that the endpoint serves, or empty. The given tree does
    not change."""
    if type(tree) is list and kind:  # a JSON patch
        return [_operation(item) for item in tree]
    if type(tree) is not dict:
        return REDACTED if kind else _without_secrets(tree)
    claimed = tree.get("kind")
    if claimed == "Status":
        return tree
    if kind and type(tree.get("items")) is list:
        return {**_object(tree, _NOTHING), "items": [redacted(item, kind) for item in tree["items"]]}
    if kind and claimed == "Table" and type(tree.get("rows")) is list:
        return {**tree, "rows": [_row(row, kind) for row in tree["rows"]]}
    return _object(tree, _SHOWN[kind]) if kind else _without_secrets(tree)


def _without_secrets(value: Json) -> Json:
    """Returns the body of an ordinary endpoint with every object of a secret kind redacted."""
    if type(value) is list:
        return [_without_secrets(each) for each in value]
    if type(value) is not dict:
        return value
    claimed = value.get("kind")
    if type(claimed) is str:
        if claimed in _SHOWN:
            return _object(value, _SHOWN[claimed])
        if (inner := claimed.removesuffix("List")) in _SHOWN and type(value.get("items")) is list:
            return {**_object(value, _NOTHING), "items": [redacted(item, inner) for item in value["items"]]}
    made = {name: _without_secrets(inner) for name, inner in value.items()}
    applied = value.get(_LAST_APPLIED)
    # The annotation contains the whole object as text, which may include a secret.
    if type(applied) is str and _SECRET_WORD.search(applied):
        made[_LAST_APPLIED] = REDACTED
    return made


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
    """Returns a query string with the values of secret-looking parameters redacted, because some clients send tokens in
    the URL."""
    if not _SECRET_NAME.search(unquote_plus(query)):
        return query
    return "&".join(map(_parameter, query.split("&")))


def _parameter(text: str) -> str:
    name, equals, _ = text.partition("=")
    return f"{name}{equals}{REDACTED}" if equals and _SECRET_NAME.search(unquote_plus(name)) else text
