"""Methods and paths that a resource does not have, as kube-apiserver answers them."""

import pytest
from tests.server.write.api import CONFIG_MAPS, DEFINITIONS, WIDGETS, Api, definition, widget

UNSUPPORTED = "the server does not allow this method on the requested resource"
SCALE = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}


@pytest.mark.parametrize("method", ["FOO", "PROPFIND", "get", "LIST", "WATCH", "DELETECOLLECTION", "PURGE", "CREATE"])
async def test_a_method_without_a_verb_is_not_allowed(api: Api, method: str) -> None:
    for path in (CONFIG_MAPS, f"{CONFIG_MAPS}/a", "/api/v1/namespaces/default/status"):
        refused = await api(method, path)
        assert (refused.status, refused.body["message"]) == (405, UNSUPPORTED)
    assert (await api(method, "/api/v1/bogus")).status == 404


async def test_custom_resources_have_answers_of_their_own(api: Api) -> None:
    made = definition()
    made["spec"]["versions"][0]["subresources"] = {"status": {}, "scale": SCALE}
    assert (await api("POST", DEFINITIONS, made)).status == 201
    # The name in the path of a create is ignored.
    assert (await api("POST", f"{WIDGETS}/other", widget("w"))).body["metadata"]["name"] == "w"
    for method in ("PUT", "PATCH"):
        refused = await api(method, WIDGETS, widget("w"), kind="application/merge-patch+json")
        assert (refused.status, refused.body["message"]) == (400, "name must be provided")
    for method, path, verb in (
        ("FOO", WIDGETS, ""),
        ("POST", f"{WIDGETS}/w/status", "create"),
        ("DELETE", f"{WIDGETS}/w/scale", "delete"),
    ):
        refused = await api(method, path)
        assert refused.status == 405
        assert refused.body["message"] == f'{verb} is not supported on resources of kind "widgets.example.com"'
        assert refused.body["details"] == {"group": "example.com", "kind": "widgets"}
