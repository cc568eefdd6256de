"""Deletion, reads and logs."""

import os
from typing import Any

from tests.dcp.registry import LINES, OUTPUT, SCENARIOS, WAITS, Scenario, python, scenario
from tests.dcp.talk import MERGE, Talk, refusal
from tests.workload.session.instances import until

# Deletion


@scenario("delete-answers-with-the-object")
def _(talk: Talk) -> Any:
    talk.make("Endpoint", "a", {"serviceName": "x", "address": "localhost", "port": 1})
    answer = talk.delete("Endpoint", "a")
    return [answer["code"], answer["tree"]["kind"], talk.ask("GET", talk.path("Endpoint", "a"))["code"]]


@scenario("delete-of-missing-object")
def _(talk: Talk) -> Any:
    return refusal(talk.delete("Executable", "none"))


def _deletion(policy: str) -> Scenario:
    def run(talk: Talk) -> Any:
        talk.make("Executable", "a", WAITS)
        pid = talk.status("Executable", "a", "Running")["pid"]
        answer = talk.delete("Executable", "a", policy)
        talk.gone("Executable", "a")
        until(lambda: not os.path.exists(f"/proc/{pid}"))
        return [answer["code"], answer["tree"]["kind"]]

    return run


for _policy in ("", "Foreground", "Background", "Orphan"):
    SCENARIOS[f"delete-executable-{_policy.lower() or 'plain'}"] = _deletion(
        f"?propagationPolicy={_policy}" if _policy else ""
    )


@scenario("delete-collection")
def _(talk: Talk) -> Any:
    for name in ("a", "b"):
        talk.make("Endpoint", name, {"serviceName": "x", "address": "localhost", "port": 1}, labels={"of": talk.prefix})
    answer = talk.ask("DELETE", f"{talk.path('Endpoint')}?labelSelector=of%3D{talk.prefix}")
    return [answer["code"], talk.ask("GET", talk.path("Endpoint", "a"))["code"]]


# Reads


@scenario("get-of-missing-object")
def _(talk: Talk) -> Any:
    return refusal(talk.ask("GET", talk.path("Executable", "none")))


@scenario("list-with-labels")
def _(talk: Talk) -> Any:
    talk.make("Endpoint", "a", {"serviceName": "x", "address": "localhost", "port": 1}, labels={"of": talk.prefix})
    answer = talk.ask("GET", f"{talk.path('Endpoint')}?labelSelector=of%3D{talk.prefix}")
    return [answer["code"], answer["tree"]["kind"], len(answer["tree"]["items"])]


@scenario("kinds")
def _(talk: Talk) -> Any:
    resources = talk.ask("GET", "/apis/usvc-dev.developer.microsoft.com/v1")["tree"]["resources"]
    return sorted(
        [each["name"], each["kind"], each.get("shortNames") or []] for each in resources if "/" not in each["name"]
    )


@scenario("subresources-of-logs")
def _(talk: Talk) -> Any:
    resources = talk.ask("GET", "/apis/usvc-dev.developer.microsoft.com/v1")["tree"]["resources"]
    return sorted(each["name"] for each in resources if each["name"].endswith("/log"))


@scenario("core-kinds-are-missing")
def _(talk: Talk) -> Any:
    return [talk.ask("GET", path)["code"] for path in ("/api/v1/pods", "/apis/apps/v1/deployments")]


@scenario("unknown-kind")
def _(talk: Talk) -> Any:
    return talk.ask("GET", "/apis/usvc-dev.developer.microsoft.com/v1/widgets")["code"]


@scenario("admin-execution")
def _(talk: Talk) -> Any:
    answer = talk.ask("GET", "/admin/execution")
    return [answer["code"], {name: answer["tree"].get(name) for name in ("status", "shutdownResourceCleanup")}]


@scenario("admin-execution-of-unknown-status")
def _(talk: Talk) -> Any:
    return talk.ask("PATCH", "/admin/execution", {"status": "Dancing"}, MERGE)["code"]


@scenario("admin-unknown-page")
def _(talk: Talk) -> Any:
    return talk.ask("GET", "/admin/none")["code"]


@scenario("health")
def _(talk: Talk) -> Any:
    return [talk.ask("GET", path)["code"] for path in ("/healthz", "/readyz", "/livez", "/version")]


# Logs

_LOGS = {
    "whole": "",
    "stdout": "?source=stdout",
    "stderr": "?source=stderr",
    "startup-stdout": "?source=startup_stdout",
    "startup-stderr-followed": "?source=startup_stderr&follow=true&timestamps=true",
    "unknown-source": "?source=nowhere",
    "tail": "?tail=2",
    "tail-of-more": "?tail=100",
    "tail-of-0": "?tail=0",
    "skip": "?skip=3",
    "skip-all": "?skip=5",
    "skip-of-minus-1": "?skip=-1",
    "limit": "?limit=2",
    "limit-of-0": "?limit=0",
    "skip-and-limit": "?skip=1&limit=2",
    "tail-and-skip": "?tail=1&skip=1",
    "limit-and-follow": "?limit=1&follow=true",
    "followed": "?follow=true",
    "tail-followed": "?follow=true&tail=1",
    "line-numbers": "?line_numbers=true",
    "line-numbers-of-skip": "?line_numbers=true&skip=3",
    "word-as-number": "?limit=some",
    "too-long-tail": "?tail=1000001",
}


def _reading(query: str) -> Scenario:
    def run(talk: Talk) -> Any:
        talk.make("Executable", "a", python(LINES))
        talk.status("Executable", "a", "Finished")
        answer = talk.finished_log("a", query, OUTPUT)
        return {"code": answer["code"]} if isinstance(answer, dict) else answer

    return run


for _name, _query in _LOGS.items():
    SCENARIOS[f"log-{_name}"] = _reading(_query)


@scenario("log-of-system-has-four-fields")
def _(talk: Talk) -> Any:
    talk.make("Executable", "a", python(LINES))
    talk.status("Executable", "a", "Finished")
    text = until(lambda: talk.log("a", "?source=system")["text"])
    plain = [line.split("\t") for line in text.splitlines()]
    text = talk.log("a", "?source=system&timestamps=true")["text"]
    stamped = [line.split("\t") for line in text.splitlines()]
    levels = {"info", "error", "debug"}
    categories = {each[2] for each in stamped}
    return [
        {each[0] for each in plain} <= levels,
        {each[1] for each in stamped} <= levels,
        "ExecutableReconciler" in categories,
    ]


@scenario("log-of-missing-object")
def _(talk: Talk) -> Any:
    return talk.log("none")["code"]


@scenario("log-timestamps")
def _(talk: Talk) -> Any:
    talk.make("Executable", "a", python(LINES))
    talk.status("Executable", "a", "Finished")
    text = talk.finished_log("a", "?timestamps=true&limit=1", OUTPUT)
    stamp, _, word = text.partition(" ")
    return [len(stamp), stamp[4], stamp[10], stamp[-1], word]


@scenario("log-of-a-waiting-object")
def _(talk: Talk) -> Any:
    talk.make("Executable", "a", {**WAITS, "start": False})
    answer = talk.log("a")
    return [answer["code"], answer["text"]]
