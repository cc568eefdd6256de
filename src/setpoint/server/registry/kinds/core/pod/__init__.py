"""Pods, and the pod templates of other kinds.

A template may change freely if its kind allows changes at all, so `validate_pod_template_update` applies the same rules
to a changed template as to a new one.
"""

from setpoint.objects.field import FieldError
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.core.pod.defaults import default_pod_spec, default_pod_template
from setpoint.server.registry.kinds.core.pod.validation import validate_pod_spec, validate_pod_template

__all__ = [
    "default_pod_spec",
    "default_pod_template",
    "validate_pod_spec",
    "validate_pod_template",
    "validate_pod_template_update",
]


def validate_pod_template_update(template: Object, old: Object, path: str) -> list[FieldError]:
    """Validates a changed template. An unchanged template remains valid, even if the rules have changed."""
    return [] if template == old else validate_pod_template(template, path)
