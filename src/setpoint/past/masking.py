"""What must not be shown: the data of Secrets, variables that hold secrets by their names, passwords in URLs.

Everything that the past tells goes through here: trees, changes, lines of output. That something changed may be known,
what it was and is may not. Pure.
"""

import re
from typing import Any

from setpoint.objects.tree import Json, Object
from setpoint.past.change import ABSENT, FieldChange

MASK = "***"
_SECRET_FIELDS = ("data", "stringData")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_named_like_secrets = re.compile(
    r"passw(or)?d|passphrase|secret|token|credential|(api|access|private|signing|encryption)[_-]?key", re.IGNORECASE
).search
_in_url = re.compile(r"(?P<before>[a-z][a-z0-9+.-]*://[^\s:/@]*:)[^\s@/]+(?=@)", re.IGNORECASE)
_ENVIRONMENTS = ("env", "effectiveEnv")
_in_environment = re.compile(rf"(?:^|\.)(?:{'|'.join(_ENVIRONMENTS)})\[(?P<name>[^\]]+)\]\.value$").search
_in_secret = re.compile(rf"(?:{'|'.join(_SECRET_FIELDS)})(?:$|[.\[])").match


def masked(tree: Object, mask: str = MASK) -> Object:
    """An object as it may be shown. What comes in stays as it is."""
    found: Object = _masked(tree, mask)
    if tree.get("kind") == "Secret":
        for field in _SECRET_FIELDS:
            if isinstance(values := found.get(field), dict):
                found[field] = dict.fromkeys(values, mask)
        annotations = (found.get("metadata") or {}).get("annotations") or {}
        if _LAST_APPLIED in annotations:
            annotations[_LAST_APPLIED] = mask
    return found


def masked_pair(old: Object, new: Object) -> tuple[Object, Object]:
    """Two states of one object as they may be shown beside each other: what differs is seen to differ."""
    before, after = masked(old), masked(new)
    _tell_apart(before, after, old, new)
    return before, after


def masked_change(change: FieldChange, *, is_secret: bool) -> FieldChange:
    """A change as it may be shown."""
    hidden = is_secret and (_in_secret(change.path) or _LAST_APPLIED in change.path)
    if not hidden and (variable := _in_environment(change.path)):
        hidden = bool(_named_like_secrets(variable["name"]))
    if hidden:
        sides = {change.old is ABSENT, change.new is ABSENT}
        before, after = (f"{MASK} (before)", f"{MASK} (after)") if sides == {False} else (MASK, MASK)
        old = ABSENT if change.old is ABSENT else before
        new = ABSENT if change.new is ABSENT else after
        return FieldChange(change.path, old, new, change.noise)
    return FieldChange(change.path, _masked(change.old, MASK), _masked(change.new, MASK), change.noise)


def masked_text(text: str) -> str:
    """A line of output, or a message, without the passwords of URLs."""
    return _in_url.sub(rf"\g<before>{MASK}", text)


def _masked(value: Any, mask: str) -> Any:
    if isinstance(value, dict):
        return {
            key: _variables(item, mask) if key in _ENVIRONMENTS else _masked(item, mask) for key, item in value.items()
        }
    if isinstance(value, list):
        return [_masked(item, mask) for item in value]
    return masked_text(value) if isinstance(value, str) else value


def _variables(value: Json, mask: str) -> Json:
    """A list of variables, as containers and Executables have it."""
    if not isinstance(value, list):
        return _masked(value, mask)
    found = [_masked(item, mask) for item in value]
    for item in found:
        if isinstance(item, dict) and item.get("value") and _named_like_secrets(str(item.get("name", ""))):
            item["value"] = mask
    return found


def _tell_apart(before: Any, after: Any, old: Any, new: Any) -> None:
    """Marks what is masked on both sides and differs."""
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
            _tell_apart(before[key], after[key], old[key], new[key])
