"""Rules that look classes up: of storage and of ingresses."""

from typing import Any

from tests.server.quota.books import CLAIMS, claim
from tests.server.write.api import Api, new_api

from setpoint.server.server_options import ServerSettings

STORAGE = "/apis/storage.k8s.io/v1/storageclasses"
INGRESS_CLASSES = "/apis/networking.k8s.io/v1/ingressclasses"
INGRESSES = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
VOLUMES = "/api/v1/persistentvolumes"


def storage_class(name: str, *, default: bool = False, **rest: Any) -> Any:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    return {"metadata": {"name": name, "annotations": annotations}, "provisioner": "example.com/p", **rest}


def plain_claim(name: str) -> Any:
    body = claim(name, "1Gi")
    del body["spec"]["storageClassName"]
    return body


async def test_a_claim_that_names_no_class_gets_the_newest_default(api: Api) -> None:
    assert "storageClassName" not in (await api("POST", CLAIMS, plain_claim("a"))).body["spec"]
    await api("POST", STORAGE, storage_class("old", default=True))
    api.clock.advance(5.0)
    await api("POST", STORAGE, storage_class("new-b", default=True))
    await api("POST", STORAGE, storage_class("new-a", default=True))
    await api("POST", STORAGE, storage_class("other"))
    assert (await api("POST", CLAIMS, plain_claim("b"))).body["spec"]["storageClassName"] == "new-a"
    assert (await api("POST", CLAIMS, claim("c", "1Gi", ""))).body["spec"]["storageClassName"] == ""


async def test_an_ingress_that_names_no_class_gets_the_default(api: Api) -> None:
    metadata = {"name": "nginx", "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}}
    await api("POST", INGRESS_CLASSES, {"metadata": metadata, "spec": {"controller": "example.com/c"}})
    spec = {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}
    made = await api("POST", INGRESSES, {"metadata": {"name": "a"}, "spec": spec})
    assert made.body["spec"]["ingressClassName"] == "nginx"
    older = {"name": "b", "annotations": {"kubernetes.io/ingress.class": "mine"}}
    made = await api("POST", INGRESSES, {"metadata": older, "spec": spec})
    assert "ingressClassName" not in made.body["spec"]


async def test_a_claim_grows_where_it_is_bound_and_its_class_lets_it(api: Api) -> None:
    for name, expands in (("fixed", False), ("elastic", True)):
        await api("POST", STORAGE, storage_class(name, allowVolumeExpansion=expands))
    larger = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    outcomes = {}
    for name in ("fixed", "elastic"):
        await api("POST", CLAIMS, claim(name, "1Gi", name) | {})
        await api.merge(f"{CLAIMS}/{name}", {"spec": {"volumeName": "v"}})
        await api.merge(f"{CLAIMS}/{name}/status", {"status": {"phase": "Bound"}})
        outcomes[name] = await api.merge(f"{CLAIMS}/{name}", larger)
    assert outcomes["elastic"].status == 200, outcomes["elastic"].body
    assert "the storageclass that provisions the pvc must support resize" in outcomes["fixed"].body["message"]


async def test_what_holds_data_is_protected_from_the_first_moment() -> None:
    async def scenario(api: Api) -> None:
        assert (await api("POST", CLAIMS, claim("a", "1Gi"))).body["metadata"]["finalizers"] == [
            "kubernetes.io/pvc-protection"
        ]
        spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/d"}}
        made = await api("POST", VOLUMES, {"metadata": {"name": "v"}, "spec": spec})
        assert made.body["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]

    async with new_api() as api:
        await scenario(api)
    async with new_api(settings=ServerSettings(disabled_plugins=("StorageObjectInUseProtection",))) as api:
        await unprotected(api)


async def unprotected(api: Api) -> None:
    assert "finalizers" not in (await api("POST", CLAIMS, claim("a", "1Gi"))).body["metadata"]
