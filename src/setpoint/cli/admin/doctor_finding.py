"""The result of a check of `setpoint doctor`."""

from typing import Literal, NamedTuple, TypeAlias

Verdict: TypeAlias = Literal["ok", "warning", "problem"]


class Finding(NamedTuple):
    """The result of a check. The remedy is empty if there is no problem."""

    name: str
    verdict: Verdict
    says: str
    remedy: str = ""
