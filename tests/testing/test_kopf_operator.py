"""Unmodified kopf operators in tests: their handlers run on the test's server, in virtual time."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from setpoint.testing import LocalServer

kopf = pytest.importorskip("kopf")

from setpoint.testing.kopf import KopfOperator  # noqa: E402
from setpoint.testing.kopf import kopf_operator as run_operator  # noqa: E402
from setpoint.testing.kopf_handlers import NoHandlersError  # noqa: E402

DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: reminders.example.com}
spec:
  scope: Namespaced
  group: example.com
  names: {kind: Reminder, plural: reminders, singular: reminder}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""
# Runs a framework of another project.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.setpoint_server(manifests=[DEFINITION]),
]

OPERATORS = Path(__file__).parent / "operators"
REMINDERS = OPERATORS / "reminders.py"
KIND = "example.com/v1/Reminder"
HOUR = 3600.0
Start = Callable[..., KopfOperator]


def reminder(name: str = "milk", **annotations: str) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Reminder",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"text": "buy milk"},
    }


def status(server: LocalServer, name: str = "milk") -> Any:
    return server.client.get(KIND, name).get("status", {})


@pytest.mark.parametrize("source", [REMINDERS, str(REMINDERS), "tests.testing.operators.reminders"])
def test_retries_pass_in_virtual_time(setpoint_server: LocalServer, kopf_operator: Start, source: Any) -> None:
    operator = kopf_operator(source)
    setpoint_server.apply(reminder())
    begin = operator.time
    found = operator.eventually(lambda: status(setpoint_server).get("remind"), within=HOUR)
    assert found == {"retries": 3, "prepared": True}
    assert 1800 <= operator.time - begin < HOUR


def test_timers_tick_once_for_each_interval(setpoint_server: LocalServer, kopf_operator: Start) -> None:
    operator = kopf_operator(REMINDERS)
    setpoint_server.apply(reminder(tick="yes"))
    operator.eventually(lambda: status(setpoint_server).get("remind"), within=HOUR)
    operator.eventually(lambda: status(setpoint_server).get("ticks") == 1, within=HOUR)
    operator.advance(5.5 * HOUR)
    assert status(setpoint_server)["ticks"] == 6


def test_a_change_and_a_deletion_are_handled(setpoint_server: LocalServer, kopf_operator: Start) -> None:
    operator = kopf_operator(REMINDERS)
    setpoint_server.apply(reminder())
    operator.eventually(lambda: status(setpoint_server).get("remind"), within=HOUR)
    setpoint_server.apply({**reminder(), "spec": {"text": "buy bread"}})
    operator.eventually(lambda: status(setpoint_server).get("changed") == "buy milk to buy bread")
    setpoint_server.client.delete(KIND, "milk")
    operator.advance(HOUR / 2)
    assert setpoint_server.client.get(KIND, "milk")["metadata"]["deletionTimestamp"]
    operator.eventually(lambda: not setpoint_server.client.list(KIND).items, within=HOUR)


def test_a_daemon_that_is_a_coroutine_passes_time(setpoint_server: LocalServer, kopf_operator: Start) -> None:
    memo = kopf.Memo()
    operator = kopf_operator(REMINDERS, memo=memo)
    setpoint_server.apply(reminder(watch="yes"))
    # Every object has a shallow copy of the memo of the operator.
    memo.watched = []
    setpoint_server.apply(reminder("bread", watch="yes"))
    operator.eventually(lambda: memo.watched.count("bread") >= 10, within=HOUR)


def test_an_error_of_a_handler_is_in_the_log(setpoint_server: LocalServer, kopf_operator: Start) -> None:
    operator = kopf_operator(REMINDERS)
    setpoint_server.apply({**reminder(), "spec": {"text": ""}})
    operator.eventually(lambda: any("failed permanently: spec.text is needed" in line for line in operator.log))
    assert any(line.startswith("[default/milk] ") for line in operator.log)


def test_a_condition_that_never_holds_fails_with_the_log(setpoint_server: LocalServer, kopf_operator: Start) -> None:
    operator = kopf_operator(REMINDERS, patience=0.1)
    setpoint_server.apply(reminder())
    with pytest.raises(AssertionError, match=r"did not hold within 5 s\n(.*\n)*.*Handler 'remind' is invoked"):
        operator.eventually(lambda: status(setpoint_server).get("nothing"), within=5)


def test_other_errors_of_a_condition_are_raised(setpoint_server: LocalServer, kopf_operator: Start) -> None:
    operator = kopf_operator(REMINDERS)
    with pytest.raises(KeyError):
        operator.eventually(lambda: setpoint_server.client.get("v1/Namespace", "default")["missing"])


def test_logins_and_clients_of_handlers_find_the_server(
    setpoint_server: LocalServer, kopf_operator: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/no/such/file")
    operator = kopf_operator(OPERATORS / "visitor.py")
    setpoint_server.apply(reminder())
    child = operator.eventually(lambda: setpoint_server.client.get("v1/ConfigMap", "milk-child"))
    assert child["metadata"]["ownerReferences"][0]["name"] == "milk"


def test_a_login_to_another_cluster_is_refused(setpoint_server: LocalServer) -> None:
    with (
        pytest.raises(Exception, match="handlers failed") as caught,
        run_operator(OPERATORS / "stray.py", server=setpoint_server) as operator,
    ):
        operator.advance(60)
    assert "leads to https://production.example.com instead of the test's server" in str(caught.value.__cause__)


def test_a_source_without_handlers_is_reported(setpoint_server: LocalServer) -> None:
    for source in ("tests.testing.kinds", kopf.OperatorRegistry()):
        with (
            pytest.raises(NoHandlersError, match="registers no handlers"),
            run_operator(source, server=setpoint_server),
        ):
            pass
    with pytest.raises(FileNotFoundError, match="no such Python file"), run_operator("missing.py"):
        pass


def test_a_registry_is_a_source(setpoint_server: LocalServer, kopf_operator: Start) -> None:
    registry = kopf.OperatorRegistry()
    seen: list[str] = []

    @kopf.on.event("example.com", "v1", "reminders", registry=registry)  # type: ignore[untyped-decorator]
    def see(name: str, **_: Any) -> None:
        seen.append(name)

    operator = kopf_operator(registry)
    setpoint_server.apply(reminder())
    operator.eventually(lambda: seen)
    assert set(seen) == {"milk"}


def test_the_end_restores_the_environment_and_leaves_no_thread(
    setpoint_server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/before")
    before = set(threading.enumerate())
    default = kopf.get_default_registry()
    with run_operator(REMINDERS, server=setpoint_server):
        assert os.environ["KUBECONFIG"] == str(setpoint_server.kubeconfig)
    assert os.environ["KUBECONFIG"] == "/before"
    assert set(threading.enumerate()) <= before
    assert kopf.get_default_registry() is default


async def test_an_async_test_awaits_the_operator() -> None:
    async with run_operator(REMINDERS) as operator:
        await asyncio.to_thread(operator.server.apply, DEFINITION, reminder())

        async def reminded() -> Any:
            found = await asyncio.to_thread(operator.server.client.get, KIND, "milk")
            return found.get("status", {}).get("remind")

        assert (await operator.eventually(reminded, within=HOUR))["retries"] == 3
        await operator.settle()


def test_with_real_time_no_time_jumps(setpoint_server: LocalServer, kopf_operator: Start) -> None:
    registry = kopf.OperatorRegistry()

    @kopf.on.create("example.com", "v1", "reminders", registry=registry, id="create")  # type: ignore[untyped-decorator]
    async def create(**_: Any) -> str:
        return "created"

    operator = kopf_operator(registry, virtual=False)
    setpoint_server.apply(reminder())
    operator.eventually(lambda: status(setpoint_server).get("create") == "created")
    assert operator.time - time.monotonic() < 1


def test_without_kopf_the_module_names_the_package() -> None:
    source = "import sys; sys.modules['kopf'] = None; import setpoint.testing.kopf"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60)
    assert done.stderr.strip().endswith("setpoint.testing.kopf runs operators of kopf: pip install kopf")
