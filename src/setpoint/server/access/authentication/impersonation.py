"""Impersonation: requests on behalf of another user, with the `Impersonate-*` headers.

Several modes grant impersonation and are tried in order. The constrained modes need two permissions: one to impersonate
the user (`impersonate:user-info` on `users`), and one to perform the requested action while impersonating
(`impersonate-on:user-info:list` on `pods`). The legacy mode needs the single verb `impersonate`, which covers every
request. Each header value (every group, every extra) is authorized separately.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from setpoint.objects.errors import BadRequest, Forbidden
from setpoint.objects.gotext import quote
from setpoint.server.access.authentication.users import (
    ANONYMOUS,
    AUTHENTICATED,
    NODE_NAME,
    NODES,
    UNAUTHENTICATED,
    node_of,
    service_account_groups,
    service_account_of,
    with_group,
)
from setpoint.server.access.authorization.authorizer import MASTERS, refusal
from setpoint.server.message import LISTED, header_values
from setpoint.server.ports import Decision, User
from setpoint.server.registry.kinds.validation.references import domain_prefixed_path
from setpoint.server.request.context import Authorizer
from setpoint.server.requestinfo import RequestInfo

# The common prefix of all impersonation headers.
PREFIX = LISTED

_EXTRA = "impersonate-extra-"
_GROUP = "authentication.k8s.io"
_ASSOCIATED_KEYS = "authentication.kubernetes.io/associated-node-keys"
_MALFORMED = re.compile("%(?![0-9A-Fa-f]{2})")
# From this number of values on, a wildcard check for all values is tried first.
_MANY = 4
_REMEMBERED = 10_000


class _Mode(NamedTuple):
    """One impersonation mode, with the users that the mode applies to."""

    name: str
    applies: Callable[[User, User], bool]
    constrained: bool = True

    @property
    def verb(self) -> str:
        return f"impersonate:{self.name}" if self.constrained else "impersonate"


def _only_named(wanted: User) -> bool:
    return not (wanted.uid or wanted.groups or wanted.extra)


def _is_own_node(wanted: User, requestor: User) -> bool:
    """Returns True if a service account impersonates the node that its token is bound to."""
    node = node_of(wanted.name)
    if node is None or not _only_named(wanted) or service_account_of(requestor.name) is None:
        return False
    return tuple(requestor.extra.get(NODE_NAME, ())) == (node,)


_ASSOCIATED_NODE = _Mode("associated-node", _is_own_node)
_MODES = (
    _ASSOCIATED_NODE,
    _Mode("arbitrary-node", lambda wanted, _: _only_named(wanted) and node_of(wanted.name) is not None),
    _Mode("serviceaccount", lambda wanted, _: _only_named(wanted) and service_account_of(wanted.name) is not None),
    _Mode("user-info", lambda wanted, _: node_of(wanted.name) is None and service_account_of(wanted.name) is None),
    _Mode("", lambda wanted, requestor: True, constrained=False),
)


class Impersonation:
    """Authorizes impersonation. Remembers the mode that last succeeded for each user and tries that mode first, because
    most users have only one."""

    def __init__(self) -> None:
        self._last: dict[str, _Mode] = {}

    def impersonated(
        self, headers: Mapping[str, str], info: RequestInfo, requestor: User, authorizer: Authorizer
    ) -> User | None:
        """Returns the user to impersonate, or None if the headers name no user. The authorizer must be prepared.

        Raises BadRequest for malformed headers, and Forbidden if the requestor may not impersonate the user.
        """
        wanted = _wanted(headers)
        if wanted is None:
            return None
        last = self._last.get(requestor.name)
        refused: Forbidden | None = None
        for mode in (last, *(mode for mode in _MODES if mode is not last)) if last else _MODES:
            if not mode.applies(wanted, requestor):
                continue
            try:
                found = _Check(authorizer, requestor, mode).all(wanted, info)
            except Forbidden as error:
                refused = refused or error
                continue
            if mode is not last:
                self._record_mode(requestor.name, mode)
            return found
        assert refused is not None, "the last mode applies to everybody"
        raise refused

    def _record_mode(self, name: str, mode: _Mode) -> None:
        self._last.pop(name, None)
        self._last[name] = mode
        if len(self._last) > _REMEMBERED:
            del self._last[next(iter(self._last))]


class _Check(NamedTuple):
    """Authorizes every attribute of an impersonated user by one mode. Each method raises Forbidden."""

    authorizer: Authorizer
    requestor: User
    mode: _Mode

    def all(self, wanted: User, info: RequestInfo) -> User:
        """Returns the resulting user with its implied groups."""
        mode = self.mode
        if mode.constrained:
            self._authorize(info._replace(verb=f"impersonate-on:{mode.name}:{info.verb}"))
        self._name(wanted.name)
        if wanted.uid:
            self._authorize(self._permission("uids", wanted.uid))
        if wanted.groups:
            self._groups(wanted.groups)
        if wanted.extra:
            self._extra(wanted.extra)
        groups = wanted.groups or _implied_groups(wanted.name, mode)
        if wanted.name == ANONYMOUS.name:
            groups = with_group(groups, UNAUTHENTICATED)
        elif UNAUTHENTICATED not in groups:
            groups = with_group(groups, AUTHENTICATED)
        return wanted._replace(groups=groups)

    def _name(self, name: str) -> None:
        account, node = service_account_of(name), node_of(name)
        if account is not None:
            namespace, name = account
            self._authorize(self._permission("serviceaccounts", name, core=True)._replace(namespace=namespace))
        elif self.mode.constrained and node is not None:
            # The associated-node permission has no node name: the permission covers each node that the account runs on.
            self._authorize(self._permission("nodes", "*" if self.mode is _ASSOCIATED_NODE else node))
        else:
            self._authorize(self._permission("users", name, core=True))

    def _groups(self, groups: Sequence[str]) -> None:
        if self.mode.constrained:
            if "" in groups:
                self._refuse(self._permission("groups", ""), "impersonating the empty string group is not allowed")
            if MASTERS in groups:
                permission = self._permission("groups", MASTERS)
                self._refuse(permission, "impersonating the system:masters group is not allowed")
            if len(groups) >= _MANY and self._may(self._permission("groups", "*")):
                return
        for group in groups:
            self._authorize(self._permission("groups", group, core=True))

    def _extra(self, extra: Mapping[str, Sequence[str]]) -> None:
        permission = self._permission("userextras", "")
        if self.mode.constrained:
            for key, values in extra.items():
                if fault := _fault_of_extra(key, values):
                    self._refuse(permission, fault)
            if sum(map(len, extra.values())) >= _MANY and self._may(permission._replace(subresource="*", name="*")):
                return
        for key, values in extra.items():
            for value in values:
                self._authorize(permission._replace(subresource=key, name=value))

    def _permission(self, resource: str, name: str, *, core: bool = False) -> RequestInfo:
        """Returns the permission to impersonate a value. `core` marks resources that the legacy mode has in the core
        group."""
        group = "" if core and not self.mode.constrained else _GROUP
        return RequestInfo(
            self.mode.verb, "", is_resource=True, group=group, version="v1", resource=resource, name=name
        )

    def _may(self, permission: RequestInfo) -> bool:
        return self.authorizer.decide(self._requester(), permission).allowed

    def _authorize(self, permission: RequestInfo) -> None:
        decision = self.authorizer.decide(self._requester(), permission)
        if not decision.allowed:
            raise refusal(self.requestor, permission, decision)

    def _refuse(self, permission: RequestInfo, why: str) -> None:
        raise refusal(self.requestor, permission, Decision(False, why))

    def _requester(self) -> User:
        if self.mode is not _ASSOCIATED_NODE:
            return self.requestor
        return self.requestor._replace(extra={_ASSOCIATED_KEYS: sorted(self.requestor.extra)})


def _implied_groups(name: str, mode: _Mode) -> Sequence[str]:
    """Returns the groups that the user name implies, for service accounts and nodes."""
    account = service_account_of(name)
    if account is not None:
        return service_account_groups(account[0])
    return (NODES,) if mode.constrained and node_of(name) is not None else ()


def _wanted(headers: Mapping[str, str]) -> User | None:
    """Returns the user that the headers name, without any checks, or None. Raises BadRequest."""
    name, uid = _first(headers, "impersonate-user"), _first(headers, "impersonate-uid")
    groups = tuple(map(_text, header_values(headers, "impersonate-group")))
    extra: dict[str, list[str]] = {}
    for header in headers:
        if header.startswith(_EXTRA):
            values = map(_text, header_values(headers, header))
            extra.setdefault(_extra_key(header.removeprefix(_EXTRA)), []).extend(values)
    if not name and (uid or groups or extra):
        shown = _go_user(uid, groups, extra)
        raise BadRequest(f"requested {shown} without impersonating a user name")
    return User(name, groups, uid, extra) if name else None


def _first(headers: Mapping[str, str], name: str) -> str:
    values = header_values(headers, name)
    return _text(values[0]) if values else ""


def _text(value: str) -> str:
    """Decodes a header value: clients send UTF-8, but the HTTP edge decodes one character per byte."""
    if value.isascii():
        return value
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


def _extra_key(encoded: str) -> str:
    """Decodes the key of an extra, whose special characters are percent-encoded in the header name."""
    encoded = encoded.lower()
    return encoded if _MALFORMED.search(encoded) else unquote(encoded)


def _fault_of_extra(key: str, values: Sequence[str]) -> str:
    """Returns the reason why a requested extra is invalid, or an empty string."""
    if not key:
        return "impersonating the empty string key in extra is not allowed"
    if errors := domain_prefixed_path(key, "extra.key"):
        texts = list(map(str, errors))
        shown = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        return f"impersonating an invalid key in extra is not allowed: {shown}"
    if key != key.lower():
        return f"impersonating a non-lowercase key in extra is not allowed: {quote(key)}"
    if "" in values:
        return "impersonating the empty string value in extra is not allowed"
    return ""


def _go_user(uid: str, groups: Sequence[str], extra: Mapping[str, Sequence[str]]) -> str:
    """Formats a user without a name in Go's notation, as kube-apiserver does."""
    shown_extra = ", ".join(f"{quote(key)}:{_go_strings(values)}" for key, values in sorted(extra.items()))
    return (
        f'&user.DefaultInfo{{Name:"", UID:{quote(uid)}, Groups:{_go_strings(groups) if groups else "[]string(nil)"}, '
        f"Extra:map[string][]string{'{' + shown_extra + '}' if extra else '(nil)'}}}"
    )


def _go_strings(values: Sequence[str]) -> str:
    return "[]string{" + ", ".join(map(quote, values)) + "}"
