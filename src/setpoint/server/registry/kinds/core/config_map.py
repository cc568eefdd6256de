"""The rules of ConfigMaps and Secrets."""

import base64
import binascii
from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from setpoint.objects import codec
from setpoint.objects.errors import APIError
from setpoint.objects.field import FieldError, forbidden, invalid, key, required, too_long
from setpoint.objects.goformat import json_type
from setpoint.objects.gotext import byte_length
from setpoint.objects.names import are_config_keys, config_key
from setpoint.objects.tree import Json, Object
from setpoint.server.registry.kinds.printers.cells import field, selectable
from setpoint.server.registry.kinds.printers.columns import AGE, NAME, count
from setpoint.server.registry.kinds.validation.values import immutable, wrong
from setpoint.server.registry.strategy import Column, Strategy

_MAX_SIZE = 1 << 20
_FROZEN = "field is immutable when `immutable` is set"
_REDACTED = "<secret contents redacted>"
_ACCOUNT = "kubernetes.io/service-account.name"


def _frozen(tree: Object, old: Object, *names: str) -> list[FieldError]:
    """Returns the errors for changes of an immutable object. An empty map of bytes is a change of an absent one, but
    texts are empty by default."""
    if not old.get("immutable"):
        return []
    found = [] if tree.get("immutable") else [forbidden("immutable", _FROZEN)]
    return found + [forbidden(name, _FROZEN) for name in names if tree.get(name) != old.get(name)]


def _is_frozen(old: Object | None) -> bool:
    return bool(old and old.get("immutable"))


def _entries(tree: Object, _now: datetime) -> Json:
    return len(tree.get("data") or ()) + len(tree.get("binaryData") or ())


class ConfigMapStrategy(Strategy):
    name_on_update = "after"
    status_fields: ClassVar[Sequence[str]] = ()
    reset_fields: ClassVar = {}
    columns: ClassVar[Sequence[Column]] = (
        NAME,
        Column("Data", _entries),
        AGE,
    )

    def validate(self, tree: Object) -> list[FieldError]:
        found: list[FieldError] = []
        data, binary = tree.get("data") or {}, tree.get("binaryData") or {}
        values = data.values()
        size = sum(map(len if all(map(str.isascii, values)) else byte_length, values))
        for name in () if not binary and are_config_keys(data) else data:
            if messages := config_key(name):
                found += wrong(key("data", name), name, messages)
            if name in binary:
                found.append(invalid(key("data", name), name, "duplicate of key present in binaryData"))
        for name, value in binary.items():
            found += wrong(key("binaryData", name), name, config_key(name))
            size += _decoded_size(value)
        return [*found, too_long("[]", _MAX_SIZE)] if size > _MAX_SIZE else found

    def compares_empty(self, old: Object | None, subresource: str = "") -> bool:
        return _is_frozen(old)

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        texts = {**tree, "data": tree.get("data") or None}
        return _frozen(texts, old, "data", "binaryData") + self.validate(tree)


class SecretStrategy(Strategy):
    name_on_update = "after"
    status_fields: ClassVar[Sequence[str]] = ()
    reset_fields: ClassVar = {}
    selectable_fields: ClassVar = {"type": selectable("type")}
    columns: ClassVar[Sequence[Column]] = (
        NAME,
        Column("Type", field("type")),
        Column("Data", count("data")),
        AGE,
    )

    def default(self, tree: Object) -> None:
        if not tree.get("type"):
            tree["type"] = "Opaque"
        texts = tree.pop("stringData", None)
        if texts:
            data = tree.setdefault("data", {})
            for name, text in texts.items():
                data[name] = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()

    def validate(self, tree: Object) -> list[FieldError]:
        data = tree.get("data") or {}
        found: list[FieldError] = []
        size = 0
        for name, value in data.items():
            if messages := config_key(name):
                found += wrong(key("data", name), name, messages)
            size += _decoded_size(value)
        if size > _MAX_SIZE:
            found.append(too_long("data", _MAX_SIZE))
        return found + _validate_type(tree, data)

    def compares_empty(self, old: Object | None, subresource: str = "") -> bool:
        return _is_frozen(old)

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        found = immutable(tree.get("type"), old.get("type"), "type")
        return found + _frozen(tree, old, "data") + self.validate(tree)


def _decoded_size(text: str) -> int:
    return len(text) // 4 * 3 - text.count("=", -2)


def _validate_type(tree: Object, data: Object) -> list[FieldError]:
    kind = tree.get("type") or ""
    if kind == "kubernetes.io/service-account-token":
        annotations = tree["metadata"].get("annotations") or {}
        return [] if annotations.get(_ACCOUNT) else [required(key("metadata.annotations", _ACCOUNT))]
    if kind in _DOCKER_KEYS:
        return _validate_docker(data, _DOCKER_KEYS[kind])
    if kind == "kubernetes.io/basic-auth":
        names = ("username", "password")
        return [] if any(name in data for name in names) else [required(key("data", name)) for name in names]
    if kind == "kubernetes.io/ssh-auth":
        return [] if data.get("ssh-privatekey") else [required(key("data", "ssh-privatekey"))]
    if kind == "kubernetes.io/tls":
        return [required(key("data", name)) for name in ("tls.crt", "tls.key") if name not in data]
    return []


_DOCKER_KEYS = {"kubernetes.io/dockercfg": ".dockercfg", "kubernetes.io/dockerconfigjson": ".dockerconfigjson"}


def _validate_docker(data: Object, name: str) -> list[FieldError]:
    place = key("data", name)
    if name not in data:
        return [required(place)]
    try:
        tree = codec.decode(base64.b64decode(data[name]))
    except APIError as error:
        return [invalid(place, _REDACTED, error.message)]
    except binascii.Error as error:
        return [invalid(place, _REDACTED, str(error))]
    if type(tree) is dict or tree is None:
        return []
    why = f"json: cannot unmarshal {json_type(tree)} into Go value of type map[string]interface {{}}"
    return [invalid(place, _REDACTED, why)]
