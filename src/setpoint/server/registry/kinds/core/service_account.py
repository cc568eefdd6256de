"""The rules of ServiceAccounts."""

from collections.abc import Sequence
from typing import ClassVar

from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.printers.columns import AGE, NAME
from setpoint.server.registry.strategy import Column, Strategy

_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"


class ServiceAccountStrategy(Strategy):
    name_on_update = "after"
    returns_deleted_object = True
    status_fields: ClassVar[Sequence[str]] = ()
    reset_fields: ClassVar = {}
    columns: ClassVar[Sequence[Column]] = (NAME, AGE)

    def prepare_for_create(self, tree: Object) -> None:
        _keep_names(tree)

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        _keep_names(tree)

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        annotated = _MOUNTABLE in (tree["metadata"].get("annotations") or {})
        before = old is not None and _MOUNTABLE in (old["metadata"].get("annotations") or {})
        if not annotated or before:
            return []
        why = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        return [f"metadata.annotations[{_MOUNTABLE}]: {why}"]


def _keep_names(tree: Object) -> None:
    """Keeps only the names of references to secrets."""
    if "secrets" in tree:
        tree["secrets"] = [{"name": secret["name"]} if secret.get("name") else {} for secret in tree["secrets"]]
