"""The kopf operator under test: it fills jars, tries again, counts time, and cleans up."""

from typing import Any

import kopf

KIND = ("example.com", "v1", "jars")


@kopf.on.create(*KIND)
async def fill(spec: kopf.Spec, retry: int, patch: kopf.Patch, **_: Any) -> None:
    if spec.get("stuck") and retry < 2:
        raise kopf.TemporaryError("the lid is stuck", delay=1)
    patch.status["filled"] = spec.get("size", 0)


@kopf.on.update(*KIND, field="spec.size")
async def refill(new: Any, patch: kopf.Patch, **_: Any) -> None:
    patch.status["filled"] = new


@kopf.timer(*KIND, interval=1, when=lambda spec, **_: bool(spec.get("ticking")))
async def tick(status: kopf.Status, patch: kopf.Patch, **_: Any) -> None:
    patch.status["ticks"] = status.get("ticks", 0) + 1


@kopf.on.delete(*KIND)
async def empty(**_: Any) -> None:
    return None
