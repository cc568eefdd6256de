"""kopf serves admission handlers: the server asks them over HTTPS, with the configurations that kopf keeps."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import msgspec
import pytest
from tests.clients.manifests import GROUP, custom, definition
from tests.clients.operating import eventually, operating
from tests.clients.serving import Serving

from setpoint.server.edge.certificates import Authority

pytestmark = pytest.mark.slow

OPERATOR = Path(__file__).parent / "admitting_operator.py"
GADGETS = f"/apis/{GROUP}/v1/namespaces/default/gadgets"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"


@pytest.fixture(scope="module")
def operator(server: Serving, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A running operator with webhooks; the path of its log."""
    server.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition("gadgets", "Gadget"))
    folder = tmp_path_factory.mktemp("webhooks")
    authority = Authority.create(datetime.now(UTC))
    pair = authority.issue_server(["127.0.0.1"], datetime.now(UTC))
    contents = {"CERTIFICATE": pair.certificate, "KEY": pair.key, "AUTHORITY": authority.pair.certificate}
    with pytest.MonkeyPatch.context() as patch:
        for name, content in contents.items():
            path = folder / name.lower()
            path.write_bytes(content)
            patch.setenv(f"WEBHOOK_{name}", str(path))
        with operating(server, OPERATOR, folder) as log:
            kinds = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
            eventually(lambda: all(_registered(server, kind) for kind in kinds), log)
            yield log


def _registered(server: Serving, kind: str) -> bool:
    found = server.get(f"{CONFIGURATIONS}/{kind}")["items"]
    return any(configuration.get("webhooks") for configuration in found)


def _refusal(server: Serving, query: str, body: Any) -> Any:
    with pytest.raises(HTTPError) as refused:
        server.ask("POST", GADGETS + query, body)
    with refused.value as answer:
        return msgspec.json.decode(answer.read())


def test_a_handler_of_kopf_changes_what_is_written(server: Serving, operator: Path) -> None:
    made = server.ask("POST", GADGETS, custom("Gadget", "plain", size=1))
    assert made["spec"] == {"size": 1, "colour": "grey"}
    made = server.ask("POST", GADGETS, custom("Gadget", "red", size=1, colour="red"))
    assert made["spec"]["colour"] == "red"


def test_a_handler_of_kopf_refuses_with_its_own_words_and_code(server: Serving, operator: Path) -> None:
    refused = _refusal(server, "", custom("Gadget", "large", size=11))
    assert refused["code"] == 422
    assert "denied the request: 11 is too large to have, " in refused["message"]
    tried = _refusal(server, "?dryRun=All", custom("Gadget", "large", size=12))
    assert "12 is too large even to try" in tried["message"]
    assert "large" not in server.names(GADGETS)


def test_a_handler_of_kopf_sees_updates_too(server: Serving, operator: Path) -> None:
    server.ask("POST", GADGETS, custom("Gadget", "growing", size=1))
    with pytest.raises(HTTPError, match="422"):
        server.merge(f"{GADGETS}/growing", {"spec": {"size": 99}})
