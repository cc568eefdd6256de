"""How an object is, in words for those who run an app."""

import pytest

from setpoint.workload.judgement import judged
from setpoint.workload.kinds.api_names import GROUP, OWN_GROUP


@pytest.mark.parametrize(
    ("finalizers", "why"),
    [
        ([f"{GROUP}/executable-reconciler"], "waiting for its process to end"),
        ([f"{GROUP}/executable-reconciler", "example.com/mine"], "waiting for finalizers: example.com/mine"),
        ([], ""),
    ],
)
def test_of_a_workload_that_goes_it_is_said_who_else_holds_it(finalizers: list[str], why: str) -> None:
    metadata = {"name": "api", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": finalizers}
    found = judged({"apiVersion": f"{GROUP}/v1", "kind": "Executable", "metadata": metadata, "spec": {}})
    assert (found.state, found.why) == ("Removing", why)


def test_an_app_is_no_workload_that_somebody_should_look_at() -> None:
    app = {"apiVersion": f"{OWN_GROUP}/v1", "kind": "App", "metadata": {"name": "shop"}, "spec": {}}
    assert judged(app).ready
    assert judged(app).why == ""
