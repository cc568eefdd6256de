"""The defaults and resets of a definition on write, before validation.

Each function takes trees and returns a new one in canonical form. `generation` is set here because only a change of the
spec increments the generation; the write path handles all other fields of the metadata.
"""

from setpoint.objects.gotext import compact_json
from setpoint.objects.tree import Object
from setpoint.schema.crd.definition import Conversion, CustomResourceDefinition, Status

_SERVICE_PORT = 443


def default(tree: Object) -> Object:
    """Returns the definition with every default; also applied to definitions read from storage."""
    return _defaulted(tree).to_json()


def prepare_for_create(tree: Object) -> Object:
    """Prepares a new definition: defaults, a new status with only the storage version, generation 1."""
    crd = _defaulted(tree)
    crd.status = Status()
    crd.metadata = {**crd.metadata, "generation": 1}
    _record_storage_version(crd)
    return crd.to_json()


def prepare_for_update(tree: Object, old: Object) -> Object:
    """Prepares an update: keeps the status, records the storage version, and increments the generation on a change."""
    crd, before = _defaulted(tree), _defaulted(old)
    crd.status = before.status
    # As texts, because schemas contain any values, and Python considers true equal to 1.
    changed = compact_json(crd.to_json()["spec"]) != compact_json(before.to_json()["spec"])
    _set_generation(crd, before, 1 if changed else 0)
    _record_storage_version(crd)
    return crd.to_json()


def prepare_for_status_update(tree: Object, old: Object) -> Object:
    """Prepares a status update: keeps the spec."""
    crd, before = _defaulted(tree), _defaulted(old)
    crd.spec = before.spec
    _set_generation(crd, before, 0)
    return crd.to_json()


def _defaulted(tree: Object) -> CustomResourceDefinition:
    crd = CustomResourceDefinition.parse(tree)
    names = crd.spec.names
    names.singular = names.singular or names.kind.lower()
    if not names.list_kind and names.kind:
        names.list_kind = f"{names.kind}List"
    if crd.spec.conversion is None:
        crd.spec.conversion = Conversion(strategy="None")
    webhook = crd.spec.conversion.webhook
    if webhook and webhook.client_config and (service := webhook.client_config.service) and service.port is None:
        service.port = _SERVICE_PORT
    if not crd.status.stored_versions:
        _record_storage_version(crd)
    return crd


def _record_storage_version(crd: CustomResourceDefinition) -> None:
    storage = crd.storage_version()
    if storage is not None and storage not in crd.status.stored_versions:
        crd.status.stored_versions = [*crd.status.stored_versions, storage]


def _set_generation(crd: CustomResourceDefinition, before: CustomResourceDefinition, step: int) -> None:
    generation = before.metadata.get("generation")
    if count := (generation if isinstance(generation, int) else 0) + step:
        crd.metadata = {**crd.metadata, "generation": count}
