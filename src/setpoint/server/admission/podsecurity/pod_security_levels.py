"""The Pod Security policy of a namespace, read from its labels."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from setpoint.objects.field import FieldError, invalid, key

PREFIX = "pod-security.kubernetes.io/"
LEVELS = ("privileged", "baseline", "restricted")
LATEST = -1

_VERSION = re.compile(r"v1\.([0-9]|[1-9][0-9]{1,5})")


class Standard(NamedTuple):
    """A level, as defined in a minor release of Kubernetes; `LATEST` for the newest."""

    level: str = "privileged"
    version: int = LATEST

    def __str__(self) -> str:
        return f"{self.level}:{'latest' if self.version == LATEST else f'v1.{self.version}'}"

    @property
    def allows_all(self) -> bool:
        return self.level == "privileged"

    @property
    def strictness(self) -> int:
        return LEVELS.index(self.level)

    def is_equivalent(self, other: "Standard") -> bool:
        return self == other or (self.allows_all and other.allows_all)


class PodSecurityLevels(NamedTuple):
    """The standards that are enforced, audited and warned about."""

    enforce: Standard = Standard()
    audit: Standard = Standard()
    warn: Standard = Standard()

    @property
    def allows_all(self) -> bool:
        return all(standard.allows_all for standard in self)

    def is_equivalent(self, other: "PodSecurityLevels") -> bool:
        return all(one.is_equivalent(two) for one, two in zip(self, other, strict=True))


def policy_of(
    labels: Mapping[str, str],
    default: PodSecurityLevels = PodSecurityLevels(),  # noqa: B008 - immutable
) -> tuple[PodSecurityLevels, list[FieldError]]:
    """Returns the policy that the labels define, and the errors in the labels. An invalid level counts as the strictest
    for enforcement, and is ignored for audit and warnings."""
    given = tuple(sorted((name, value) for name, value in labels.items() if name.startswith(PREFIX)))
    return _policy_of(given, default) if given else (default, [])


@lru_cache(maxsize=512)
def _policy_of(
    labels: tuple[tuple[str, str], ...], default: PodSecurityLevels
) -> tuple[PodSecurityLevels, list[FieldError]]:
    given = dict(labels)
    errors: list[FieldError] = []
    modes: dict[str, Standard] = {}
    readable: set[str] = set()
    for mode, standard in zip(PodSecurityLevels._fields, default, strict=True):
        level, version = given.get(PREFIX + mode), given.get(f"{PREFIX}{mode}-version")
        if level in LEVELS:
            readable.add(mode)
            standard = standard._replace(level=level)
        elif level is not None:
            errors.append(_wrong(PREFIX + mode, level, f"must be one of {', '.join(LEVELS)}"))
            standard = standard._replace(level="restricted" if mode == "enforce" else "privileged")
        if version is not None:
            found = _VERSION.fullmatch(version)
            if found is None and version != "latest":
                errors.append(_wrong(f"{PREFIX}{mode}-version", version, 'must be "latest" or "v1.x"'))
            standard = standard._replace(version=int(found[1]) if found else LATEST)
        modes[mode] = standard
    enforce, warn = modes["enforce"], modes["warn"]
    if PREFIX + "warn" not in given and "enforce" in readable and enforce.strictness > warn.strictness:
        # The enforced standard also produces warnings, because a Deployment is admitted even if its pods will be
        # refused.
        since = warn if f"{PREFIX}warn-version" in given else enforce
        modes["warn"] = Standard(enforce.level, since.version)
    return PodSecurityLevels(**modes), errors


def _wrong(label: str, value: str, why: str) -> FieldError:
    return invalid(key("metadata.labels", label), value, why)
