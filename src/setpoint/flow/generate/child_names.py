"""Readable names of children, made of the parent's name and the purpose of the child.

A name that is not a valid DNS label, or too long, is converted to one with a hash.
"""

import hashlib
import re
from typing import Any

from setpoint.client.kinds import AnyObject
from setpoint.controller.child_names import LONGEST
from setpoint.controller.recording_client import metadata_of
from setpoint.objects.names import dns1123_label
from setpoint.schema.types import ObjectMeta

_HASH_CHARACTERS = 8
_STRANGE = re.compile(r"[^a-z0-9]+")


def child(parent: AnyObject, *parts: str | int, **metadata: Any) -> ObjectMeta:
    """Returns the metadata of a child, in the namespace of its parent.

    The name is made of the parent's name and the parts. The name is stable, has at most 63 characters and is a valid
    DNS label: usable for a Service, as a label value and as a host name. Without parts, the name is that of the parent.
    Raises ValueError for a parent without a name.

        Deployment(metadata=child(app, "worker", labels={"app": app.metadata.name}), spec=...)
    """
    where = metadata_of(parent)
    if not where.name:
        raise ValueError("the parent has no name yet: create it first")
    metadata.setdefault("namespace", where.namespace)
    return ObjectMeta(name=safe_name(where.name, *parts), **metadata)


def safe_name(*parts: str | int) -> str:
    """Joins the parts with dashes; converts an invalid DNS label to a valid one with a hash of the parts."""
    name = "-".join(map(str, parts))
    if not dns1123_label(name):
        return name
    end = hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:_HASH_CHARACTERS]
    shown = _STRANGE.sub("-", name.lower()).strip("-")[: LONGEST - _HASH_CHARACTERS - 1].rstrip("-")
    return f"{shown}-{end}" if shown else f"x-{end}"
