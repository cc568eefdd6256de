"""Leases and LeaseCandidates."""

import re
from collections.abc import Sequence

from setpoint.objects.field import FieldError, child, forbidden, invalid, not_supported, required
from setpoint.objects.names import config_key, qualified_name
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.base_strategy import ValidatingStrategy, drop_disabled
from setpoint.server.registry.kinds.printers.cells import field
from setpoint.server.registry.kinds.printers.columns import AGE, NAME
from setpoint.server.registry.kinds.validation.values import wrong
from setpoint.server.registry.strategy import Column

_OLDEST = "OldestEmulationVersion"
_SEMANTIC_VERSION = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?\Z"
)


class LeaseStrategy(ValidatingStrategy):
    without_domains = ("",)
    allows_create_on_update = True
    allows_unconditional_update = False
    columns = (NAME, Column("Holder", field("spec", "holderIdentity")), AGE)

    def prepare_for_create(self, tree: Object) -> None:
        # Coordinated leader election is a feature that is off.
        drop_disabled(tree, None, "spec.strategy", "spec.preferredHolder")

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        drop_disabled(tree, old, "spec.strategy", "spec.preferredHolder")

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec = tree.get("spec") or {}
        found = []
        seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
        if seconds is not None and seconds <= 0:
            found.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
        if transitions is not None and transitions < 0:
            found.append(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
        strategy = spec.get("strategy")
        if strategy is not None:
            found += _validate_election(strategy, "spec.strategy")
        if spec.get("preferredHolder") and not strategy:
            found.append(forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined"))
        return found


class LeaseCandidateStrategy(ValidatingStrategy):
    allows_create_on_update = True
    allows_unconditional_update = False
    immutable = ("spec.leaseName",)
    columns = (
        NAME,
        Column("LeaseName", field("spec", "leaseName")),
        Column("BinaryVersion", field("spec", "binaryVersion")),
        Column("EmulationVersion", field("spec", "emulationVersion")),
        AGE,
    )

    def name_errors(self, name: str, prefix: bool) -> Sequence[str]:
        return config_key(name)

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec = tree.get("spec") or {}
        found = [required(f"spec.{name}") for name in ("leaseName", "binaryVersion", "strategy") if not spec.get(name)]
        versions: dict[str, tuple[int, ...]] = {}
        for name in ("emulationVersion", "binaryVersion"):
            value = spec.get(name) or ""
            match = _SEMANTIC_VERSION.match(value)
            if match:
                versions[name] = tuple(map(int, match.groups()))
            elif value:
                found.append(invalid(f"spec.{name}", value, "must be a valid semantic version"))
        if len(versions) == 2 and versions["binaryVersion"] < versions["emulationVersion"]:
            why = "must be greater than or equal to `emulationVersion`"
            found.append(invalid("spec.binaryVersion", spec["binaryVersion"], why))
        if spec.get("strategy"):
            if spec["strategy"] == _OLDEST and not any(versions.get("emulationVersion", ())):
                why = f"must be specified when `strategy` is '{_OLDEST}'"
                found.append(required("spec.emulationVersion", why))
            found += _validate_election(spec["strategy"], "spec.strategy")
        return found


def _validate_election(strategy: str, path: str) -> list[FieldError]:
    """Validates an election strategy: a built-in name, or a qualified name."""
    # The API repeats the field in the path.
    place = child(path, "strategy")
    if "/" in strategy:
        return wrong(place, strategy, qualified_name(strategy))
    return [] if strategy == _OLDEST else [not_supported(place, strategy, [_OLDEST])]
