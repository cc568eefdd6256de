"""The types of `discovery/v1`; the stub beside this module declares their fields."""

from typing import Any

from setpoint.schema.types.builtin import lookup


def __getattr__(name: str) -> Any:
    return lookup(__name__, name)


def __dir__() -> list[str]:
    return list(lookup(__name__, "__all__"))
