"""What a check of the doctor found."""

from typing import Literal, NamedTuple, TypeAlias

Verdict: TypeAlias = Literal["ok", "warning", "problem"]


class Finding(NamedTuple):
    """What a check found. The remedy is empty where all is well."""

    name: str
    verdict: Verdict
    says: str
    remedy: str = ""
