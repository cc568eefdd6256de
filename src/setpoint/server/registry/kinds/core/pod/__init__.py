"""Pods, and the templates of pods that other kinds have inside.

A template may change freely where its kind allows a change at all, so what `validate_pod_template_update` asks of a
changed template is what it asks of a new one.
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
    """A changed template. One that did not change is as good as it was, whatever the rules say by now."""
    return [] if template == old else validate_pod_template(template, path)
