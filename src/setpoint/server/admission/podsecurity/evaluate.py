"""Evaluates a pod against a Pod Security Standard."""

from collections.abc import Sequence
from functools import cache

from setpoint.objects.tree import Object
from setpoint.server.admission.podsecurity.checks import BASELINE, RESTRICTED, Check, PodSecurityCheck, Violation
from setpoint.server.admission.podsecurity.pod_security_levels import LATEST, Standard

# The newest release that changed a check; later releases are the same.
_NEWEST = max(form[0] for rule in (*BASELINE, *RESTRICTED) for form in rule.forms)


def violations(standard: Standard, metadata: Object, spec: Object) -> list[Violation]:
    """Returns all violations of a standard by a pod."""
    if standard.allows_all:
        return []
    version = _NEWEST if standard.version == LATEST else min(standard.version, _NEWEST)
    return [found for check in _checks(standard.level, version) if (found := check(metadata, spec)) is not None]


def violations_text(found: Sequence[Violation]) -> str:
    return ", ".join(map(str, found))


@cache
def _checks(level: str, version: int) -> Sequence[Check]:
    restricted = {rule: form for rule in RESTRICTED if (form := _form(rule, version))} if level == "restricted" else {}
    replaced = {rule.instead_of for rule in restricted}
    baseline = [form for rule in BASELINE if rule.name not in replaced and (form := _form(rule, version))]
    return (*baseline, *restricted.values())


def _form(rule: PodSecurityCheck, version: int) -> Check | None:
    """Returns the form of a check in a release, or None if the check did not exist yet."""
    return next((check for since, check in reversed(rule.forms) if since <= version), None)
