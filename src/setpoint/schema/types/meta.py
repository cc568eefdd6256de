"""The metadata of an object as a model."""

from datetime import datetime
from typing import Any

import msgspec

from setpoint.schema.types.model import Model


class OwnerReference(Model):
    """A reference to an owner of the object."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Model):
    """The metadata of every object: its names, its labels, and the fields that the server maintains."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    finalizers: list[str] = msgspec.field(default_factory=list)
    owner_references: list[OwnerReference] = msgspec.field(default_factory=list)
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    self_link: str = ""
    managed_fields: list[dict[str, Any]] = msgspec.field(default_factory=list)
