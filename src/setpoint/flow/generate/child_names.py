"""Names of children that people can read: those of the parent and of what the child is for. Where that is no label of
DNS, or too long for one, it is made one, and a hash tells it from others."""

import hashlib
import re
from typing import Any

from setpoint.client.kinds import AnyObject
from setpoint.controller.child_names import LONGEST
from setpoint.controller.recording_client import placed
from setpoint.objects.names import dns1123_label
from setpoint.schema.types import ObjectMeta

_HASH_CHARACTERS = 8
_STRANGE = re.compile(r"[^a-z0-9]+")


def child(parent: AnyObject, *parts: str | int, **metadata: Any) -> ObjectMeta:
    """The metadata of a child: in the namespace of its parent, with a name of the parent's and the parts.

    The name is always the same for the same, at most 63 characters, and a label of DNS: good for a Service, as the
    value of a label, as a host name. Without parts it is the parent's own. Raises ValueError for a parent without name.
    """
    where = placed(parent)
    if not where.name:
        raise ValueError("the parent has no name yet: create it first")
    metadata.setdefault("namespace", where.namespace)
    return ObjectMeta(name=safe_name(where.name, *parts), **metadata)


def safe_name(*parts: str | int) -> str:
    """The parts with dashes between them; where that is no label of DNS, one that is, with a hash of the parts."""
    name = "-".join(map(str, parts))
    if not dns1123_label(name):
        return name
    end = hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:_HASH_CHARACTERS]
    shown = _STRANGE.sub("-", name.lower()).strip("-")[: LONGEST - _HASH_CHARACTERS - 1].rstrip("-")
    return f"{shown}-{end}" if shown else f"x-{end}"
