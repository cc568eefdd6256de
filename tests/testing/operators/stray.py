"""A kopf operator that logs in to a cluster of its own choice."""

from typing import Any

import kopf


@kopf.on.login(errors=kopf.ErrorsMode.PERMANENT)
def login(**_: Any) -> kopf.ConnectionInfo:
    return kopf.ConnectionInfo(server="https://production.example.com", token="secret")


@kopf.on.create("example.com", "v1", "reminders")
def create(**_: Any) -> None:
    """Handles no object."""
