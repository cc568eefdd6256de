"""A ResourceQuota with its accounting state."""

from collections.abc import Mapping
from typing import NamedTuple

from setpoint.objects import meta
from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Object, copy
from setpoint.server.quota.amounts import Amounts, only, plus, read, shown, written
from setpoint.server.quota.evaluators import Evaluator


class Quota(NamedTuple):
    """A ResourceQuota: the hard limits, the usage, and the scopes."""

    name: str
    revision: int
    hard: Amounts
    used: Amounts
    requirements: tuple[Object, ...]
    # True if `used` was counted for the current limits.
    is_counted: bool
    tree: Object

    def at_revision(self, revision: int) -> "Quota":
        """Returns the quota as written at a revision."""
        metadata = {**self.tree["metadata"], "resourceVersion": str(revision)}
        return self._replace(revision=revision, tree={**self.tree, "metadata": metadata})

    def names(self, evaluator: Evaluator) -> set[str]:
        """Returns the names of this quota under which the objects of a resource count."""
        return {name for name in self.hard if evaluator.counts(name)}

    def usage(self, evaluator: Evaluator, tree: Object | None) -> Amounts:
        """Returns the usage of an object in this quota."""
        if tree is None or not self.is_about(evaluator, tree):
            return {}
        return only(evaluator.usage(tree), self.hard)

    def is_about(self, evaluator: Evaluator, tree: Object) -> bool:
        return all(evaluator.is_in_scope(requirement, tree) for requirement in self.requirements)

    def counted(self, used: Amounts) -> "Quota":
        return self._replace(used=used, is_counted=True)

    def charged(self, change: Amounts) -> "Quota":
        """Returns the quota after a change of usage, which never becomes negative."""
        return self._replace(used={name: _not_negative(value) for name, value in plus(self.used, change).items()})

    def excess(self, asked: Amounts) -> str:
        """Returns the error message if the requested amounts exceed the quota, or an empty string."""
        after = plus(self.used, asked)
        names = {name for name in asked if name in self.hard and after[name] > self.hard[name]}
        if not names:
            return ""
        parts = (shown(only(amounts, names)) for amounts in (asked, self.used, self.hard))
        requested, used, limited = parts
        return f"exceeded quota: {self.name}, requested: {requested}, used: {used}, limited: {limited}"

    def stored(self) -> Object:
        """Returns the object with this state as its status."""
        tree = {**self.tree, "metadata": copy(self.tree["metadata"])}
        tree["status"] = {"hard": {**(tree["spec"].get("hard") or {})}, "used": written(self.used)}
        return tree


def read_quota(tree: Object) -> Quota:
    spec, status = tree.get("spec") or {}, tree.get("status") or {}
    scopes = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    selector = (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    hard, used = read(spec.get("hard")), read(status.get("used"))
    return Quota(
        meta.name(tree),
        int(tree["metadata"]["resourceVersion"]),
        hard,
        used,
        (*scopes, *selector),
        read(status.get("hard")) == hard and "used" in status,
        tree,
    )


def _not_negative(quantity: Quantity) -> Quantity:
    return quantity if quantity.sign >= 0 else Quantity(0, 0, quantity.format)


def increases(change: Mapping[str, Quantity]) -> dict[str, Quantity]:
    """Returns the increases of a change."""
    return {name: quantity for name, quantity in change.items() if quantity.sign > 0}
