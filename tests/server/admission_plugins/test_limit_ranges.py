"""LimitRanges: what containers get unasked, and what is refused."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.server.quota.books import CLAIMS, PODS, claim
from tests.server.write.api import Api

CASES = yaml.safe_load((Path(__file__).parent / "cases" / "limit_ranges.yaml").read_text())
RANGES = "/api/v1/namespaces/default/limitranges"


def body_of(case: Any) -> Any:
    if "claim" in case:
        return claim("p", case["claim"])
    spec = {
        field: [{"name": f"{letter}{at}", "image": "x", "resources": said} for at, said in enumerate(case.get(key, []))]
        for field, key, letter in (("containers", "containers", "c"), ("initContainers", "init", "i"))
    }
    if "pod" in case:
        spec["resources"] = case["pod"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
async def test_what_is_created_is_filled_in_and_held_to_the_bounds(api: Api, case: Any) -> None:
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l"},
        "spec": {"limits": [case["limit"]]},
    }
    assert (await api("POST", RANGES, limits)).status == 201
    kind = "persistentvolumeclaims" if "claim" in case else "pods"
    made = await api("POST", CLAIMS if "claim" in case else PODS, body_of(case))
    if "refused" in case:
        assert (made.status, made.body["message"]) == (403, f'{kind} "p" is forbidden: {case["refused"]}')
        return
    assert made.status == 201, made.body
    if "resources" in case:
        assert [found["resources"] for found in made.body["spec"]["containers"]] == case["resources"]
    annotations = made.body["metadata"].get("annotations", {})
    assert annotations.get("kubernetes.io/limit-ranger") == case.get("annotation")


async def test_a_pod_that_is_there_stays_when_bounds_come_later(api: Api) -> None:
    # A resize may not change the quality of service, so the pod has requests from the start.
    await api("POST", PODS, body_of({"containers": [{"requests": {"cpu": "600m"}}]}))
    limit = {"type": "Container", "min": {"cpu": "1"}}
    await api("POST", RANGES, {"metadata": {"name": "l"}, "spec": {"limits": [limit]}})
    assert (await api.merge(f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}})).status == 200
    resized = {"spec": {"containers": [{"name": "c0", "resources": {"requests": {"cpu": "500m"}}}]}}
    refused = await api("PATCH", f"{PODS}/p/resize", resized, kind="application/strategic-merge-patch+json")
    assert refused.status == 403
    assert "minimum cpu usage per Container is 1" in refused.body["message"]
    await api("DELETE", f"{RANGES}/l")
    assert (await api("POST", PODS, {**body_of({"containers": [{}]}), "metadata": {"name": "q"}})).status == 201
