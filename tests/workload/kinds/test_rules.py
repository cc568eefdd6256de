"""What the server takes for workload objects, what it makes of them, and what may be changed."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.workload.kinds.conftest import Plane

from setpoint.client.patches import merge
from setpoint.objects.errors import APIError, Invalid
from setpoint.objects.tree import Object
from setpoint.workload.kinds.all import KINDS

CASES = Path(__file__).parent / "cases"
CREATE = yaml.load((CASES / "create.yaml").read_text(), Loader=yaml.CSafeLoader)
UPDATE = yaml.load((CASES / "update.yaml").read_text(), Loader=yaml.CSafeLoader)
API_VERSIONS = {kind.gvk().kind: kind.gvk().api_version for kind in KINDS}
_numbers = count()


def made(case: dict[str, Any]) -> Object:
    kind = case["kind"]
    name = f"{kind.lower()}-{next(_numbers)}"
    return {"apiVersion": API_VERSIONS[kind], "kind": kind, "metadata": {"name": name}, "spec": case["spec"]}


def contains(whole: Any, part: Any) -> bool:
    """Whether all of the fields of one tree are in the other."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and contains(whole[key], part[key]) for key in part)
    return bool(whole == part)


def ids(cases: list[dict[str, Any]]) -> list[str]:
    return [f"{case['kind']}-{index}" for index, case in enumerate(cases)]


@pytest.mark.parametrize("case", CREATE, ids=ids(CREATE))
def test_a_new_object_is_completed_or_refused_with_every_reason(served: Plane, case: dict[str, Any]) -> None:
    if "errors" in case:
        with pytest.raises(Invalid) as refused:
            served.run(served.client.create(made(case)))
        assert [text for text in case["errors"] if text not in str(refused.value)] == [], str(refused.value)
    else:
        found = served.run(served.client.create(made(case)))
        assert contains(found["spec"], case.get("becomes", {})), found["spec"]


@pytest.mark.parametrize("case", UPDATE, ids=ids(UPDATE))
def test_a_change_is_let_through_or_refused_with_every_reason(served: Plane, case: dict[str, Any]) -> None:
    tree = served.run(served.client.create(made(case)))
    key = f"{tree['apiVersion']}/{tree['kind']}", tree["metadata"]["name"]
    change = {"spec": case["change"]}
    if "errors" in case:
        with pytest.raises(APIError) as refused:
            served.run(served.client.patch(tree, merge(change)))
        assert refused.value.code == 422
        assert [text for text in case["errors"] if text not in str(refused.value)] == [], str(refused.value)
        assert served.run(served.client.get(*key)) == tree
    else:
        served.run(served.client.patch(tree, merge(change)))
