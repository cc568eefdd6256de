"""Scenarios with containers, networks and volumes. They need Podman, and an image that contains only busybox."""

import re
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tests.dcp.registry import Scenario, producer
from tests.dcp.talk import Talk, refusal
from tests.workload.podman import IMAGE
from tests.workload.session.instances import until

CONTAINER_SCENARIOS: dict[str, Scenario] = {}
WAITS = {"image": IMAGE, "command": "/bin/sleep", "args": ["1000"]}
OUTPUT = "one\ntwo\nthree\n"


def scenario(name: str) -> Callable[[Scenario], Scenario]:
    def add(function: Scenario) -> Scenario:
        assert name not in CONTAINER_SCENARIOS, name
        CONTAINER_SCENARIOS[name] = function
        return function

    return add


def shell(script: str, *args: str, **spec: Any) -> dict[str, Any]:
    return {"image": IMAGE, "command": "/bin/sh", "args": ["-c", script, "sh", *args], **spec}


def summary(status: Any) -> dict[str, Any]:
    """Returns the facts of a container's status that are the same in each run."""
    found = {name: status.get(name) for name in ("state", "exitCode", "healthStatus", "networks")}
    present = ("containerId", "containerName", "startupTimestamp", "finishTimestamp")
    return {**found, "present": [name for name in present if status.get(name)]}


def ended(talk: Talk, name: str, spec: Any, **metadata: Any) -> Any:
    """Returns the status of a new container that has ended."""
    talk.make("Container", name, spec, **metadata)
    return talk.status("Container", name, "Exited", "FailedToStart")


def printed(talk: Talk, name: str, expected: Callable[[str], bool] = bool, kind: str = "Container") -> str:
    """Returns the output, as soon as it is as expected; the last output otherwise."""
    with suppress(AssertionError):
        until(lambda: expected(talk.log(name, kind=kind)["text"]), 15)
    text: str = talk.log(name, kind=kind)["text"]
    return text


@scenario("container-runs")
def _(talk: Talk) -> Any:
    created = talk.make("Container", "web", WAITS)
    running = summary(talk.status("Container", "web", "Running"))
    talk.delete("Container", "web")
    return [created["code"], running, talk.gone("Container", "web")]


@scenario("container-exits")
def _(talk: Talk) -> Any:
    return [summary(ended(talk, f"c{code}", shell(f"exit {code}"))) for code in (0, 3)]


@scenario("container-message")
def _(talk: Talk) -> Any:
    return bool(ended(talk, "web", shell("exit 3")).get("message"))


@scenario("container-without-image")
def _(talk: Talk) -> Any:
    spec = {"image": "localhost/no-such-image:1", "pullPolicy": "never"}
    return summary(ended(talk, "web", spec))


@scenario("container-without-program")
def _(talk: Talk) -> Any:
    talk.make("Container", "web", {"image": IMAGE, "command": "/no/such/program"})
    with suppress(AssertionError):
        until(lambda: (talk.get("Container", "web").get("status") or {}).get("state") == "FailedToStart", 10)
    return talk.get("Container", "web")["status"]["state"]


@scenario("container-without-command")
def _(talk: Talk) -> Any:
    return summary(ended(talk, "web", {"image": IMAGE}))["state"]


@scenario("container-stop")
def _(talk: Talk) -> Any:
    talk.make("Container", "web", shell("trap 'exit 7' TERM; while :; do sleep 0.1; done"))
    talk.status("Container", "web", "Running")
    code = talk.patch("Container", "web", {"spec": {"stop": True}})["code"]
    return [code, summary(talk.status("Container", "web", "Exited"))]


@scenario("container-start-later")
def _(talk: Talk) -> Any:
    talk.make("Container", "web", {**WAITS, "start": False})
    time.sleep(1)
    before = summary(talk.get("Container", "web").get("status") or {})
    talk.patch("Container", "web", {"spec": {"start": True}})
    return [before["present"], talk.status("Container", "web", "Running")["state"]]


@scenario("container-stop-before-start")
def _(talk: Talk) -> Any:
    talk.make("Container", "web", {**WAITS, "stop": True})
    return talk.status("Container", "web", "Exited", "FailedToStart")["state"]


@scenario("container-name")
def _(talk: Talk) -> Any:
    name = talk.name("given")
    talk.make("Container", "web", {**WAITS, "containerName": name})
    status = talk.status("Container", "web", "Running")
    return status["containerName"].lstrip("/") == name


@scenario("container-derived-name")
def _(talk: Talk) -> Any:
    talk.make("Container", "web", WAITS)
    status = talk.status("Container", "web", "Running")
    return [status["containerName"].lstrip("/").startswith(talk.name("web")), len(status["containerId"])]


@scenario("container-env")
def _(talk: Talk) -> Any:
    env = [
        {"name": "T_ONE", "value": "1"},
        {"name": "T_NAME", "value": "{{ .Name }}"},
        {"name": "T_EMPTY", "value": ""},
    ]
    status = ended(talk, "web", shell('echo "$T_ONE,${T_EMPTY-none}"', env=env))
    effective = {each["name"]: each.get("value", "") for each in status.get("effectiveEnv") or ()}
    effective["T_NAME"] = effective.get("T_NAME", "").replace(talk.prefix, "P")
    return [
        sorted(set(printed(talk, "web").splitlines())),
        {name: effective[name] for name in effective if name[:2] == "T_"},
    ]


@scenario("container-args")
def _(talk: Talk) -> Any:
    status = ended(talk, "web", shell('echo "$@"', "a b", "c"))
    return [sorted(set(printed(talk, "web").splitlines())), status.get("effectiveArgs")]


@scenario("container-env-file")
def _(talk: Talk) -> Any:
    return summary(ended(talk, "web", shell("true", envFiles=["/no/such/file"])))["state"]


@scenario("container-logs")
def _(talk: Talk) -> Any:
    talk.make("Container", "web", shell("echo one; echo two; echo three; echo bad >&2; sleep 1000"))
    talk.status("Container", "web", "Running")
    whole = printed(talk, "web", lambda text: text == OUTPUT)
    queries = (
        "?tail=1",
        "?skip=1",
        "?limit=2",
        "?skip=1&limit=1",
        "?line_numbers=true",
        "?source=stderr",
    )
    answers = {query: talk.log("web", query, "Container")["text"] for query in queries}
    timed = talk.log("web", "?timestamps=true&limit=1", "Container")["text"]
    return [whole, answers, bool(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z one\n", timed))]


@scenario("container-log-codes")
def _(talk: Talk) -> Any:
    talk.make("Container", "web", WAITS)
    talk.status("Container", "web", "Running")
    sources = ("stdout", "stderr", "startup_stdout", "startup_stderr", "system", "other")
    return {source: talk.log("web", f"?source={source}", "Container")["code"] for source in sources}


@scenario("container-serves")
def _(talk: Talk) -> Any:
    port = {"containerPort": 8080}
    annotations = producer({"serviceName": talk.name("api"), "port": 8080})
    talk.make("Service", "api", {"protocol": "TCP", "addressAllocationMode": "Localhost"})
    spec = shell("echo hello > /tmp/index.html; exec httpd -f -p 8080 -h /tmp", ports=[port])
    talk.make("Container", "web", spec, annotations=annotations)
    talk.status("Container", "web", "Running")
    status = talk.status("Service", "api", "Ready")
    url = f"http://{status['effectiveAddress']}:{status['effectivePort']}/index.html"

    def look() -> str:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                text: str = answer.read().decode()
        except OSError:
            return ""
        return text

    text = until(look)
    ours = [
        each
        for each in talk.ask("GET", talk.path("Endpoint"))["tree"]["items"]
        if each["spec"]["serviceName"] == talk.name("api")
    ]
    return [text, len(ours), [each["spec"]["address"] for each in ours]]


@scenario("container-port-of-host")
def _(talk: Talk) -> Any:
    annotations = producer({"serviceName": talk.name("api"), "port": 8080})
    talk.make("Service", "api", {"protocol": "TCP"})
    spec = {**WAITS, "ports": [{"containerPort": 8080, "hostPort": 28471}]}
    talk.make("Container", "web", spec, annotations=annotations)
    talk.status("Container", "web", "Running")
    talk.status("Service", "api", "Ready")
    found = [
        each["spec"]
        for each in talk.ask("GET", talk.path("Endpoint"))["tree"]["items"]
        if each["spec"]["serviceName"] == talk.name("api")
    ]
    return [(each["address"], each["port"]) for each in found]


@scenario("container-files")
def _(talk: Talk) -> Any:
    entries = [
        {"name": "one.txt", "contents": "first\n"},
        {"type": "directory", "name": "sub", "entries": [{"name": "two.txt", "contents": "second\n", "mode": 0o600}]},
    ]
    files = [{"destination": "/data", "entries": entries}]
    ended(talk, "web", shell("cat /data/one.txt /data/sub/two.txt; stat -c %a /data/sub/two.txt", createFiles=files))
    return printed(talk, "web", lambda text: text.count("\n") == 3)


@scenario("container-persistent")
def _(talk: Talk) -> Any:
    spec = {**WAITS, "containerName": talk.name("kept"), "persistent": True}
    talk.make("Container", "web", spec)
    first = talk.status("Container", "web", "Running")["containerId"]
    talk.delete("Container", "web")
    talk.gone("Container", "web")
    talk.make("Container", "web", spec)
    again = talk.status("Container", "web", "Running")
    talk.delete("Container", "web")
    talk.gone("Container", "web")
    talk.make("Container", "web", {"containerName": talk.name("kept"), "mode": "cleanup"})
    adopted = talk.status("Container", "web", "Running", "NotFound")
    talk.delete("Container", "web")
    return [
        again["containerId"] == first,
        adopted["state"],
        adopted.get("containerId") == first,
        talk.gone("Container", "web"),
    ]


@scenario("container-existing-absent")
def _(talk: Talk) -> Any:
    talk.make("Container", "web", {"containerName": talk.name("absent"), "mode": "existing"})
    return summary(talk.status("Container", "web", "NotFound", "FailedToStart"))


@scenario("container-in-no-network")
def _(talk: Talk) -> Any:
    talk.make("Container", "web", {**WAITS, "networks": []})
    return summary(talk.status("Container", "web", "Running"))


def network_summary(status: Any) -> Any:
    shown = {name: status.get(name) for name in ("state", "driver", "ipv6")}
    counts = {name: len(status.get(name) or ()) for name in ("subnets", "gateways", "containerIds")}
    return {**shown, **counts, "has id": bool(status.get("id"))}


@scenario("network")
def _(talk: Talk) -> Any:
    talk.make("ContainerNetwork", "net", {})
    status = talk.status("ContainerNetwork", "net", "Running", "FailedToStart")
    derived = status.get("networkName", "").startswith(talk.name("net"))
    talk.delete("ContainerNetwork", "net")
    return [network_summary(status), derived, talk.gone("ContainerNetwork", "net")]


@scenario("network-name")
def _(talk: Talk) -> Any:
    talk.make("ContainerNetwork", "net", {"networkName": talk.name("given")})
    status = talk.status("ContainerNetwork", "net", "Running", "FailedToStart")
    return [network_summary(status), status.get("networkName") == talk.name("given")]


@scenario("network-existing-absent")
def _(talk: Talk) -> Any:
    talk.make("ContainerNetwork", "net", {"networkName": talk.name("absent"), "mode": "existing"})
    return network_summary(talk.status("ContainerNetwork", "net", "NotFound", "FailedToStart"))


@scenario("network-persistent")
def _(talk: Talk) -> Any:
    spec = {"networkName": talk.name("kept"), "persistent": True}
    talk.make("ContainerNetwork", "net", spec)
    first = talk.status("ContainerNetwork", "net", "Running")["id"]
    talk.delete("ContainerNetwork", "net")
    talk.gone("ContainerNetwork", "net")
    talk.make("ContainerNetwork", "net", {**spec, "persistent": False, "mode": "cleanup"})
    again = talk.status("ContainerNetwork", "net", "Running", "NotFound")
    return [again["state"], again.get("id") == first]


def shown(talk: Talk, *names: str) -> list[str]:
    """Returns the networks of a container, as soon as they are the given ones, or after a while."""

    def look() -> list[str]:
        found = talk.get("Container", "web")["status"].get("networks") or ()
        return sorted(each.replace(talk.prefix, "P") for each in found)

    with suppress(AssertionError):
        until(lambda: [each.rpartition("/")[2] for each in look()] == [f"P-{name}" for name in names], 15)
    return look()


@scenario("network-of-containers")
def _(talk: Talk) -> Any:
    talk.make("ContainerNetwork", "net", {})
    talk.status("ContainerNetwork", "net", "Running")
    networks = [{"name": talk.name("net"), "aliases": ["backend"]}]
    talk.make("Container", "web", {**WAITS, "networks": networks})
    talk.status("Container", "web", "Running")
    found = shown(talk, "net")
    items = talk.ask("GET", talk.path("ContainerNetworkConnection"))["tree"]["items"]
    connections = [each["spec"] for each in items if each["spec"]["containerNetworkName"].endswith(talk.name("net"))]
    return [found, [each.get("aliases") for each in connections]]


@scenario("network-lists-containers")
def _(talk: Talk) -> Any:
    talk.make("ContainerNetwork", "net", {})
    talk.status("ContainerNetwork", "net", "Running")
    talk.make("Container", "web", {**WAITS, "networks": [{"name": talk.name("net")}]})
    talk.status("Container", "web", "Running")
    with suppress(AssertionError):
        until(lambda: talk.get("ContainerNetwork", "net")["status"].get("containerIds"), 10)
    return len(talk.get("ContainerNetwork", "net")["status"].get("containerIds") or ())


@scenario("network-change")
def _(talk: Talk) -> Any:
    for name in ("one", "two"):
        talk.make("ContainerNetwork", name, {})
        talk.status("ContainerNetwork", name, "Running")
    both = [{"name": talk.name("one")}, {"name": talk.name("two")}]
    talk.make("Container", "web", {**WAITS, "networks": both[:1]})
    talk.status("Container", "web", "Running")
    found = [shown(talk, "one")]
    for change, names in ((both, ("one", "two")), (both[1:], ("two",))):
        talk.patch("Container", "web", {"spec": {"networks": change}})
        found.append(shown(talk, *names))
    return found


@scenario("network-later")
def _(talk: Talk) -> Any:
    talk.make("Container", "web", {**WAITS, "networks": [{"name": talk.name("net")}]})
    time.sleep(1)
    before = (talk.get("Container", "web").get("status") or {}).get("state")
    talk.make("ContainerNetwork", "net", {})
    return [before, talk.status("Container", "web", "Running", "FailedToStart")["state"]]


@scenario("volume")
def _(talk: Talk) -> Any:
    made = talk.make("ContainerVolume", "data", {"name": talk.name("data"), "persistent": False})
    status = talk.status("ContainerVolume", "data", "Ready")
    mounts = [{"type": "volume", "source": talk.name("data"), "target": "/data"}]
    ended(talk, "writes", shell("echo kept > /data/file", volumeMounts=mounts))
    reads = shell("grep -q kept /data/file", volumeMounts=mounts)
    found = summary(ended(talk, "reads", reads))
    for name in ("writes", "reads"):
        talk.delete("Container", name)
        talk.gone("Container", name)
    talk.delete("ContainerVolume", "data")
    return [made["code"], status["state"], found["state"], found["exitCode"], talk.gone("ContainerVolume", "data")]


@scenario("volume-mounted-read-only")
def _(talk: Talk) -> Any:
    talk.make("ContainerVolume", "data", {"name": talk.name("data"), "persistent": False})
    talk.status("ContainerVolume", "data", "Ready")
    mounts = [{"type": "volume", "source": talk.name("data"), "target": "/data", "readOnly": True}]
    return summary(ended(talk, "reads", shell("touch /data/file || exit 9", volumeMounts=mounts)))["exitCode"]


@scenario("volume-read-only")
def _(talk: Talk) -> Any:
    mounts = [{"type": "bind", "source": "/tmp", "target": "/data", "readOnly": True}]
    return summary(ended(talk, "web", shell("touch /data/x || exit 9", volumeMounts=mounts)))["exitCode"]


def run(talk: Talk, name: str, **spec: Any) -> Any:
    talk.make("ContainerExec", name, {"containerName": talk.name("web"), **spec})
    return talk.status("ContainerExec", name, "Finished", "FailedToStart")


@scenario("exec")
def _(talk: Talk) -> Any:
    talk.make("Container", "web", WAITS)
    talk.status("Container", "web", "Running")
    env = [{"name": "T_ONE", "value": "1"}]
    found = run(
        talk,
        "run",
        command="/bin/sh",
        args=["-c", "pwd; echo $T_ONE; echo bad >&2; exit 5"],
        env=env,
        workingDirectory="/tmp",
    )
    text = printed(talk, "run", lambda text: text.count("\n") == 2, "ContainerExec")
    errors = talk.log("run", "?source=stderr", "ContainerExec")["text"]
    return [found["state"], found.get("exitCode"), text, errors, found.get("effectiveArgs")]


@scenario("exec-without-program")
def _(talk: Talk) -> Any:
    talk.make("Container", "web", WAITS)
    talk.status("Container", "web", "Running")
    found = run(talk, "run", command="/no/such/program")
    return [found["state"], bool(found.get("exitCode"))]


@scenario("exec-before-container")
def _(talk: Talk) -> Any:
    talk.make("ContainerExec", "run", {"containerName": talk.name("web"), "command": "/bin/true"})
    time.sleep(0.5)
    talk.make("Container", "web", WAITS)
    found = talk.status("ContainerExec", "run", "Finished", "FailedToStart")
    return [found["state"], found.get("exitCode")]


@scenario("exec-of-ended-container")
def _(talk: Talk) -> Any:
    ended(talk, "web", shell("true"))
    return run(talk, "run", command="/bin/true")["state"]


@scenario("container-change-refused")
def _(talk: Talk) -> Any:
    talk.make("Container", "web", WAITS)
    talk.status("Container", "web", "Running")
    changes: list[Any] = [{"image": "other:1"}, {"start": False}, {"persistent": True}, {"args": ["5"]}]
    return [refusal(talk.patch("Container", "web", {"spec": change}))["code"] for change in changes]
