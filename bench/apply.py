"""Server-side apply and plain updates of the custom resource, against a live object with three managers.

A deployer applies the whole spec, an autoscaler applies the number of instances, and the operator updates the status.
Each case starts from decoded trees and ends with a tree, `managedFields` read and written included.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from bench.custom_resource import DOCUMENT, GROUP, KIND, OBJECT, SCHEMA, VERSION
from bench.measure import Case
from setpoint.merge.fieldmanager import FieldManager
from setpoint.merge.fieldset import from_paths
from setpoint.merge.types import Types
from setpoint.objects.clock import ManualClock
from setpoint.objects.tree import copy
from setpoint.schema.builtin import definitions

API_VERSION = f"{GROUP}/{VERSION}"


def _config(**changes: Any) -> dict[str, Any]:
    """What the deployer applies: everything but the instances, which are the autoscaler's."""
    metadata = {name: OBJECT["metadata"][name] for name in ("name", "namespace", "labels", "annotations")}
    spec = {name: value for name, value in OBJECT["spec"].items() if name != "instances"}
    found: dict[str, Any] = copy(
        {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": {**spec, **changes}}
    )
    return found


def cases() -> Iterator[Case]:
    types = {API_VERSION: Types(definitions.definition).custom_resource(SCHEMA)}
    clock = ManualClock(datetime(2026, 3, 1, tzinfo=UTC))

    def manager(subresource: str, *reset: tuple[str, ...]) -> FieldManager:
        fields = {API_VERSION: from_paths(*reset)}
        return FieldManager(
            api_version=API_VERSION, kind=KIND, types=types, clock=clock, reset_fields=fields, subresource=subresource
        )

    main, status = manager("", ("f:status",)), manager("status", ("f:metadata",), ("f:spec",))
    scaled = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "orders"}, "spec": {"instances": 3}}
    live = main.apply(None, _config(), "deployer")
    live = main.apply(live, scaled, "autoscaler")
    live = {**live, "metadata": {**copy(OBJECT["metadata"]), "managedFields": live["metadata"]["managedFields"]}}
    live = status.update(live, {**live, "status": copy(OBJECT["status"])}, "operator")
    clock.advance(60)

    changed = _config(version="16.5", parameters={**OBJECT["spec"]["parameters"], "work_mem": "32MB"})
    dropped = _config(parameters={name: OBJECT["spec"]["parameters"][name] for name in ("work_mem", "wal_level")})
    moved = copy(OBJECT["status"])
    moved["observedGeneration"] = 5
    moved["conditions"][0]["message"] = "2 of 3 instances are ready"

    yield Case("apply: two fields change, three managers", DOCUMENT, lambda: main.apply(live, changed, "deployer"), 12)
    unchanged = _config()
    yield Case("apply: nothing changes, three managers", DOCUMENT, lambda: main.apply(live, unchanged, "deployer"), 12)
    yield Case("apply: four fields go, three managers", DOCUMENT, lambda: main.apply(live, dropped, "deployer"), 12)
    yield Case("apply: a fourth manager, forced", DOCUMENT, lambda: main.apply(live, changed, "other", force=True), 12)

    written = copy(live)
    yield Case("update: nothing changes, three managers", DOCUMENT, lambda: main.update(live, written, "operator"), 4)
    reported = {**copy(live), "status": moved}
    yield Case("update: two status fields change", DOCUMENT, lambda: status.update(live, reported, "operator"), 6)
