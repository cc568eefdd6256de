"""The operator of kopf's tutorial works, over the SQLite store. The test plays the volume controller."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.clients.operating import eventually, operating
from tests.clients.serving import Serving, serving

pytestmark = pytest.mark.slow

OPERATOR = Path(__file__).parent / "ephemeral_operator.py"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
EPHEMERAL = "/apis/kopf.dev/v1/namespaces/default/ephemeralvolumeclaims"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"

DEFINITION = {
    "metadata": {"name": "ephemeralvolumeclaims.kopf.dev"},
    "spec": {
        "scope": "Namespaced",
        "group": "kopf.dev",
        "names": {
            "kind": "EphemeralVolumeClaim",
            "plural": "ephemeralvolumeclaims",
            "singular": "ephemeralvolumeclaim",
            "shortNames": ["evcs", "evc"],
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    directory = tmp_path_factory.mktemp("server")
    with serving(directory, f"sqlite:{directory / 'data.db'}") as served:
        yield served


@pytest.fixture(scope="module")
def operator(server: Serving, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    server.ask("POST", DEFINITIONS, DEFINITION)
    growing = {"metadata": {"name": "growing"}, "provisioner": "example.com/none", "allowVolumeExpansion": True}
    server.ask("POST", "/apis/storage.k8s.io/v1/storageclasses", growing)
    with operating(server, OPERATOR, tmp_path_factory.mktemp("operator")) as log:
        yield log


def ask_for(server: Serving, name: str, **spec: Any) -> None:
    metadata = {"name": name, "labels": {"owner": "me"}}
    server.ask(
        "POST",
        EPHEMERAL,
        {"apiVersion": "kopf.dev/v1", "kind": "EphemeralVolumeClaim", "metadata": metadata, "spec": spec},
    )


def made(server: Serving, name: str) -> Any:
    return server.get(f"{CLAIMS}/{name}") if name in server.names(CLAIMS) else None


def bind(server: Serving, name: str) -> None:
    """What the volume controller would do."""
    server.merge(f"{CLAIMS}/{name}", {"spec": {"volumeName": f"volume-of-{name}"}})
    status = {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    server.merge(f"{CLAIMS}/{name}/status", {"status": status})


def test_a_claim_is_made_grows_and_takes_over_labels(server: Serving, operator: Path) -> None:
    ask_for(server, "mine", size="1Gi")
    claim = eventually(lambda: made(server, "mine"), operator)
    assert claim["spec"]["resources"]["requests"] == {"storage": "1Gi"}
    [owner] = claim["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("EphemeralVolumeClaim", "mine", True)
    eventually(lambda: "claim" in server.get(f"{EPHEMERAL}/mine").get("status", {}), operator)
    bind(server, "mine")
    server.merge(f"{EPHEMERAL}/mine", {"spec": {"size": "2Gi"}, "metadata": {"labels": {"application": "some-app"}}})
    eventually(lambda: made(server, "mine")["spec"]["resources"]["requests"] == {"storage": "2Gi"}, operator)
    wanted = {"application": "some-app", "owner": "me"}
    eventually(lambda: made(server, "mine")["metadata"].get("labels") == wanted, operator)


def test_what_is_wrong_for_good_is_not_tried_again(server: Serving, operator: Path) -> None:
    ask_for(server, "without")
    eventually(lambda: "failed permanently: the size must be set" in operator.read_text(), operator)
    assert made(server, "without") is None
