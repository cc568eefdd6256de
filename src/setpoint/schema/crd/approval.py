"""The approval annotation that definitions in the groups of the Kubernetes project must have."""

from enum import Enum
from urllib.parse import urlsplit

from setpoint.objects.field import FieldError, invalid, key, required
from setpoint.objects.gotext import quote
from setpoint.schema.crd.definition import CustomResourceDefinition

ANNOTATION = "api-approved.kubernetes.io"

_PROTECTED = ("k8s.io", "kubernetes.io")
_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"


class Approval(Enum):
    """The meaning of the annotation: the reason and the status of the condition."""

    INVALID = ("InvalidAnnotation", "False")
    APPROVED = ("ApprovedAnnotation", "True")
    BYPASSED = ("UnapprovedAnnotation", "False")
    MISSING = ("MissingAnnotation", "False")

    def __init__(self, reason: str, status: str) -> None:
        self.reason = reason
        self.status = status


def is_protected(group: str) -> bool:
    """Returns True if the group belongs to the Kubernetes project."""
    return any(group == suffix or group.endswith(f".{suffix}") for suffix in _PROTECTED)


def approval(annotations: dict[str, str]) -> tuple[Approval, str]:
    """Returns the meaning of the annotation, and the message."""
    text = annotations.get(ANNOTATION)
    wanted = f"protected groups must have approval annotation {quote(ANNOTATION)}"
    if not isinstance(text, str) or not text:
        return Approval.MISSING, f"{wanted}, {_SEE}"
    if text.startswith("unapproved"):
        return Approval.BYPASSED, f"not approved: {quote(text)}"
    if _is_url(text):
        return Approval.APPROVED, f"approved in {text}"
    return Approval.INVALID, f'{wanted} with either a URL or a reason starting with "unapproved", {_SEE}'


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return bool(parts.scheme and parts.netloc.rpartition("@")[2]) and " " not in parts.netloc
    except ValueError:
        return False


def validate_approval(crd: CustomResourceDefinition, old: CustomResourceDefinition | None) -> list[FieldError]:
    """Checks that the approval is present and valid, unless its state is unchanged since `old`."""
    if not is_protected(crd.spec.group):
        return []
    state, message = approval(crd.annotations)
    if old is not None and approval(old.annotations)[0] is state:
        return []
    field = key("metadata.annotations", ANNOTATION)
    if state is Approval.MISSING:
        return [required(field, message)]
    return [invalid(field, crd.annotations[ANNOTATION], message)] if state is Approval.INVALID else []
