"""An operator as kopf's users write them: `kopf run` loads this file."""

from typing import Any

import kopf
from tests.clients.manifests import GROUP


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.posting.enabled = True
    settings.networking.connect_timeout = 5


@kopf.on.create(GROUP, "v1", "widgets")
def create(spec: kopf.Spec, name: str, patch: kopf.Patch, **_: Any) -> dict[str, Any]:
    patch.status["phase"] = "Made"
    return {"made": f"{name} of {spec['size']}"}


@kopf.on.update(GROUP, "v1", "widgets", field="spec.size")
def resize(old: Any, new: Any, patch: kopf.Patch, **_: Any) -> None:
    patch.status["resized"] = f"{old} to {new}"


@kopf.on.delete(GROUP, "v1", "widgets")
def delete(spec: kopf.Spec, body: kopf.Body, **_: Any) -> None:
    kopf.info(body, reason="Gone", message=f"a widget of {spec['size']} is no more")


@kopf.timer(GROUP, "v1", "widgets", interval=0.3, annotations={"tick": kopf.PRESENT})
def tick(status: kopf.Status, patch: kopf.Patch, **_: Any) -> None:
    patch.status["ticks"] = status.get("ticks", 0) + 1


@kopf.index("configmaps", labels={"indexed": kopf.PRESENT})
def settings_by_name(name: str, body: kopf.Body, **_: Any) -> dict[str, Any]:
    return {name: body["data"]["colour"]}


@kopf.on.field(GROUP, "v1", "widgets", field="spec.colour")
def paint(new: Any, patch: kopf.Patch, **known: Any) -> None:
    settings: kopf.Index[str, str] = known["settings_by_name"]
    patch.status["paint"] = next(iter(settings.get(new, [])), "unknown")


@kopf.on.event("configmaps", labels={"seen": "no"})
def see(patch: kopf.Patch, **_: Any) -> None:
    patch.metadata.labels["seen"] = "yes"
