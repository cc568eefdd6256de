"""Masks secrets: the data of Secrets, variables with secret-like names, passwords in URLs, JSON Web Tokens.

All output about the past is masked: trees, changes, log lines. The fact of a change is shown, the old and new values
are not. Has no side effects.
"""

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from setpoint.objects.tree import Json, Object
from setpoint.past.change import ABSENT, FieldChange

MASK = "***"
# Returns the replacement of a secret.
Hide: TypeAlias = Callable[[str], str]
_SECRET_FIELDS = ("data", "stringData")
# Contains the whole object as text, with all secrets.
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_named_like_secrets = re.compile(
    r"passw(or)?d|passphrase|secret|token|credential|(api|access|private|signing|encryption)[_-]?key", re.IGNORECASE
).search
_in_url = re.compile(r"(?P<before>[a-z][a-z0-9+.-]*://[^\s:/@]*:)(?P<secret>[^\s@/]+)(?=@)", re.IGNORECASE)
# The header and the payload of a JSON Web Token begin with the encoding of `{"`.
_TOKEN = "eyJ"
_token = re.compile(r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*")
_ENVIRONMENTS = ("env", "effectiveEnv")
_may_hide = re.compile(
    "|".join(["://", _TOKEN, '"kind":"Secret"', _LAST_APPLIED, *(f'"{name}":' for name in _ENVIRONMENTS)]).encode()
).search
_list = rf"(?:^|\.)(?:{'|'.join(_ENVIRONMENTS)})"
_variable_list = re.compile(rf"{_list}$").search
_one_variable = re.compile(rf"{_list}\[[^\]]+\]$").search
_value_of_variable = re.compile(rf"{_list}\[(?P<name>[^\]]+)\]\.value$").search
_in_secret = re.compile(rf"(?:{'|'.join(_SECRET_FIELDS)})(?:$|[.\[])").match


def is_secret_name(name: str) -> bool:
    """Returns True if the name of a variable or field looks like that of a secret."""
    return _named_like_secrets(name) is not None


def may_hide(encoded: bytes) -> bool:
    """Returns True if the JSON of an object may contain secrets. Most objects contain none, and need not be decoded."""
    return _may_hide(encoded) is not None


def masked(tree: Object, mask: str | Hide = MASK) -> Object:
    """Returns a masked copy of an object. `mask` is the replacement of secrets, or a function that returns the
    replacement."""
    hide = _constant(mask) if isinstance(mask, str) else mask
    found: Object = _masked(tree, hide)
    if tree.get("kind") == "Secret":
        for field in _SECRET_FIELDS:
            if isinstance(values := tree.get(field), dict):
                found[field] = {key: hide(str(value)) for key, value in values.items()}
    return found


def _constant(mask: str) -> Hide:
    return lambda secret: mask


def masked_pair(old: Object, new: Object) -> tuple[Object, Object]:
    """Returns two masked states of one object. Masked values that differ are marked."""
    before, after = masked(old), masked(new)
    _mark_differences(before, after, old, new)
    return before, after


def masked_change(change: FieldChange, *, is_secret: bool) -> FieldChange:
    """Returns a masked change."""
    hidden = _LAST_APPLIED in change.path or (is_secret and bool(_in_secret(change.path)))
    if not hidden and (variable := _value_of_variable(change.path)):
        hidden = is_secret_name(variable["name"])
    if hidden:
        has_both = change.old is not ABSENT and change.new is not ABSENT
        before, after = (f"{MASK} (before)", f"{MASK} (after)") if has_both else (MASK, MASK)
        old = ABSENT if change.old is ABSENT else before
        new = ABSENT if change.new is ABSENT else after
        return FieldChange(change.path, old, new, change.noise)
    old, new = (_masked_at(change.path, value) for value in (change.old, change.new))
    return FieldChange(change.path, old, new, change.noise)


def _masked_at(path: str, value: Any) -> Any:
    """Masks the value of a field, which may be a list of variables, or a single one."""
    hide = _constant(MASK)
    if _variable_list(path):
        return _variables(value, hide)
    if _one_variable(path) and isinstance(value, dict):
        return _variables([value], hide)[0]
    return _masked(value, hide)


def masked_text(text: str, hide: Hide | None = None) -> str:
    """Masks the passwords of URLs and JSON Web Tokens in a line of output, or in a message."""
    if _TOKEN in text:
        text = _token.sub(lambda found: hide(found[0]) if hide else MASK, text)
    if "://" not in text:
        return text
    return _in_url.sub(lambda found: found["before"] + (hide(found["secret"]) if hide else MASK), text)


def _masked(value: Any, hide: Hide) -> Any:
    if isinstance(value, dict):
        return {key: _masked_below(key, item, hide) for key, item in value.items()}
    if isinstance(value, list):
        return [_masked(item, hide) for item in value]
    return masked_text(value, hide) if isinstance(value, str) else value


def _masked_below(key: str, value: Json, hide: Hide) -> Json:
    if key == _LAST_APPLIED:
        return hide(str(value))
    return _variables(value, hide) if key in _ENVIRONMENTS else _masked(value, hide)


def _variables(value: Json, hide: Hide) -> Json:
    """Masks a list of variables, as in containers and Executables."""
    if not isinstance(value, list):
        return _masked(value, hide)
    found = [_masked(item, hide) for item in value]
    for given, item in zip(value, found, strict=True):
        if isinstance(item, dict) and item.get("value") and is_secret_name(str(item.get("name", ""))):
            item["value"] = hide(str(given["value"]))
    return found


def _mark_differences(before: Any, after: Any, old: Any, new: Any) -> None:
    """Marks values that are masked on both sides and differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys: Any = before.keys() & after.keys()
    elif isinstance(before, list) and isinstance(after, list):
        keys = range(min(len(before), len(after)))
    else:
        return
    for key in keys:
        if before[key] == after[key] == MASK and old[key] != new[key]:
            before[key], after[key] = f"{MASK} (before)", f"{MASK} (after)"
        else:
            _mark_differences(before[key], after[key], old[key], new[key])
