"""What the tests of quotas share: objects, and a count of what is there that knows nothing of the books."""

from typing import Any

from tests.server.write.api import Answer, Api

from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Object

QUOTAS = "/api/v1/namespaces/default/resourcequotas"
PODS = "/api/v1/namespaces/default/pods"
SERVICES = "/api/v1/namespaces/default/services"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


def quota(name: str = "q", *, spec: Object | None = None, **hard: str) -> Object:
    """A quota; `__` in a name stands for a dot, and `count_` for `count/`."""
    names = {name.replace("__", ".").replace("count_", "count/"): value for name, value in hard.items()}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name},
        "spec": {"hard": names, **(spec or {})},
    }


def pod(name: str, *, requests: Object | None = None, limits: Object | None = None, **spec: Any) -> Object:
    resources = {"requests": requests or {}, "limits": limits or {}}
    containers = [{"name": "c", "image": "x", "resources": resources}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers} | spec}


def service(name: str, kind: str, ports: int) -> Object:
    found = [{"name": f"p{at}", "port": 80 + at} for at in range(ports)]
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"type": kind, "ports": found}}


def claim(name: str, size: str, storage_class: str = "") -> Object:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": size}},
    }
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


async def used(api: Api, name: str = "q") -> Object:
    """What a quota says is used."""
    found: Object = ((await api("GET", f"{QUOTAS}/{name}")).body["status"].get("used")) or {}
    return found


async def set_quota(api: Api, body: Object) -> Answer:
    """Makes a quota, and waits until it was counted."""
    made = await api("POST", QUOTAS, body)
    assert made.status == 201, made.body
    ledger = api.server.services.ledger
    assert ledger is not None
    await ledger.recount("default", body["metadata"]["name"])
    return made


def same(amounts: Object, expected: dict[str, str]) -> bool:
    """Whether amounts are equal, however they are written."""
    return amounts.keys() == expected.keys() and all(
        Quantity.parse(str(amounts[name])) == Quantity.parse(expected[name]) for name in expected
    )
