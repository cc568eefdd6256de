"""Services, replica sets and probes."""

import socket
from typing import Any

from tests.dcp.registry import SCENARIOS, SHOWS, WAITS, Scenario, producer, python, scenario
from tests.dcp.talk import Talk
from tests.workload.session.instances import until

# Services

_MODES = {
    "localhost": {"addressAllocationMode": "Localhost"},
    "default": {},
    "ipv4": {"addressAllocationMode": "IPv4ZeroOne"},
    "ipv6": {"addressAllocationMode": "IPv6ZeroOne"},
    "ipv6-address": {"address": "[::1]"},
    "ipv4-address": {"address": "127.0.0.1"},
    "local-name": {"address": "app.localhost"},
    "loopback": {"addressAllocationMode": "IPv4Loopback"},
    "all": {"addressAllocationMode": "AllInterfaces"},
}


def _address(spec: dict[str, Any]) -> Scenario:
    def run(talk: Talk) -> Any:
        talk.make("Service", "a", {"protocol": "TCP", **spec})
        status = until(lambda: (found := talk.get("Service", "a").get("status") or {}).get("effectivePort") and found)
        return [status["effectiveAddress"], status["state"]]

    return run


for _name, _spec in _MODES.items():
    SCENARIOS[f"service-at-{_name}"] = _address(_spec)


_SERVER = (
    "import socket, sys; s = socket.create_server(('127.0.0.1', int(sys.argv[1])))\n"
    "while True: c, _ = s.accept(); c.sendall(b'hello'); c.close()"
)


@scenario("service-through-proxy")
def _(talk: Talk) -> Any:
    service = talk.name("api")
    talk.make("Service", "api", {"protocol": "TCP", "addressAllocationMode": "IPv4ZeroOne"})
    spec = python(_SERVER, f'{{{{- portForServing "{service}" -}}}}')
    talk.make("Executable", "a", spec, annotations=producer({"serviceName": service, "port": None, "address": None}))
    status = talk.status("Service", "api", "Ready")

    def answer() -> str:
        with socket.create_connection(("127.0.0.1", status["effectivePort"]), timeout=10) as connection:
            return connection.makefile().read()

    return until(answer)


@scenario("service-endpoint")
def _(talk: Talk) -> Any:
    service = talk.name("api")
    talk.make("Service", "api", {"protocol": "TCP"})
    talk.make("Executable", "a", WAITS, annotations=producer({"serviceName": service, "port": 4321}))
    talk.status("Service", "api", "Ready")
    items = talk.ask("GET", talk.path("Endpoint"))["tree"]["items"]
    return [
        {name: each["spec"].get(name) for name in ("address", "port")}
        for each in items
        if each["spec"]["serviceName"] == service
    ]


@scenario("service-proxyless")
def _(talk: Talk) -> Any:
    service = talk.name("api")
    talk.make("Service", "api", {"protocol": "TCP", "addressAllocationMode": "Proxyless"})
    talk.make(
        "Executable", "a", WAITS, annotations=producer({"serviceName": service, "port": 4322, "address": "127.0.0.1"})
    )
    status = talk.status("Service", "api", "Ready")
    return [status["effectiveAddress"], status["effectivePort"]]


@scenario("service-consumer-waits")
def _(talk: Talk) -> Any:
    service = talk.name("late")
    talk.make("Executable", "a", python(SHOWS, f'{{{{- portFor "{service}" | lt 0 -}}}}'))
    waiting = talk.status("Executable", "a", "Starting")["state"]
    talk.make("Service", "late", {"protocol": "TCP"})
    talk.status("Executable", "a", "Finished")
    return [waiting, until(lambda: talk.log("a")["text"]).strip()]


@scenario("service-ends-with-its-producer")
def _(talk: Talk) -> Any:
    service = talk.name("api")
    talk.make("Service", "api", {"protocol": "TCP"})
    talk.make("Executable", "a", WAITS, annotations=producer({"serviceName": service, "port": 4323}))
    talk.status("Service", "api", "Ready")
    talk.delete("Executable", "a")
    talk.gone("Executable", "a")
    return talk.status("Service", "api", "NotReady")["state"]


# Replica sets


def _counts(talk: Talk, wanted: int) -> Any:
    def look() -> Any:
        status = talk.get("ExecutableReplicaSet", "a").get("status") or {}
        counts = [status.get(name) for name in ("runningReplicas", "observedReplicas")]
        return status if counts == [wanted] * 2 and status.get("healthStatus") else None

    status = until(look)
    names = ("observedReplicas", "runningReplicas", "failedReplicas", "finishedReplicas", "healthStatus")
    return {name: status.get(name) for name in names}


@scenario("set-of-0")
def _(talk: Talk) -> Any:
    talk.make("ExecutableReplicaSet", "a", {"replicas": 0, "template": {"spec": WAITS}})
    return _counts(talk, 0)


@scenario("set-without-replicas")
def _(talk: Talk) -> Any:
    made = talk.make("ExecutableReplicaSet", "a", {"template": {"spec": WAITS}})
    return [made["tree"]["spec"].get("replicas"), _counts(talk, 0)]


@scenario("set-of-2")
def _(talk: Talk) -> Any:
    talk.make("ExecutableReplicaSet", "a", {"replicas": 2, "template": {"spec": WAITS}})
    return _counts(talk, 2)


def _replicas(talk: Talk) -> Any:
    items = talk.ask("GET", talk.path("Executable"))["tree"]["items"]
    owner = talk.name("a")
    return [
        each for each in items if any(ref["name"] == owner for ref in each["metadata"].get("ownerReferences") or ())
    ]


@scenario("set-scaled-down")
def _(talk: Talk) -> Any:
    talk.make("ExecutableReplicaSet", "a", {"replicas": 2, "template": {"spec": WAITS}})
    _counts(talk, 2)
    talk.patch("ExecutableReplicaSet", "a", {"spec": {"replicas": 1}})
    counts = _counts(talk, 1)
    return [counts, until(lambda: len(_replicas(talk)) == 1)]


@scenario("set-stopped-on-scale-down")
def _(talk: Talk) -> Any:
    talk.make("ExecutableReplicaSet", "a", {"replicas": 2, "stopOnScaleDown": True, "template": {"spec": WAITS}})
    _counts(talk, 2)
    talk.patch("ExecutableReplicaSet", "a", {"spec": {"replicas": 0}})
    return until(
        lambda: (
            (found := [(each.get("status") or {}).get("state") for each in _replicas(talk)]) == ["Finished"] * 2
            and found
        )
    )


@scenario("set-annotations")
def _(talk: Talk) -> Any:
    template = {"spec": WAITS, "annotations": {"own": "1"}, "labels": {"of": "set"}}
    talk.make("ExecutableReplicaSet", "a", {"replicas": 1, "template": template})
    _counts(talk, 1)
    [replica] = _replicas(talk)
    metadata = replica["metadata"]
    return [
        sorted(name for name in metadata["annotations"] if not name.startswith("setpoint.dev/")),
        metadata["labels"].get("of"),
        metadata["annotations"]["executable-replica-set.usvc-dev.developer.microsoft.com/display-name"].removeprefix(
            talk.prefix
        ),
    ]


@scenario("set-deleted")
def _(talk: Talk) -> Any:
    talk.make("ExecutableReplicaSet", "a", {"replicas": 2, "template": {"spec": WAITS}})
    _counts(talk, 2)
    answer = talk.delete("ExecutableReplicaSet", "a", "?propagationPolicy=Orphan")
    talk.gone("ExecutableReplicaSet", "a")
    return [answer["code"], answer["tree"]["kind"], until(lambda: not _replicas(talk))]


@scenario("set-of-failing")
def _(talk: Talk) -> Any:
    talk.make(
        "ExecutableReplicaSet", "a", {"replicas": 1, "template": {"spec": {"executablePath": "/no/such/program"}}}
    )

    def look() -> Any:
        status = talk.get("ExecutableReplicaSet", "a").get("status") or {}
        return status if status.get("failedReplicas") else None

    status = until(look)
    return [status["failedReplicas"], status["healthStatus"]]


# Certificates and probes


@scenario("probe-of-a-served-page")
def _(talk: Talk) -> Any:
    code = (
        "import http.server as h, sys; "
        "h.HTTPServer(('127.0.0.1', int(sys.argv[1])), h.SimpleHTTPRequestHandler).serve_forever()"
    )
    service = talk.name("api")
    talk.make("Service", "api", {"protocol": "TCP", "addressAllocationMode": "IPv4ZeroOne"})
    probe = {
        "name": "page",
        "type": "HTTP",
        "httpProbe": {"url": f'http://127.0.0.1:{{{{ portForServing "{service}" }}}}/'},
        "schedule": {"interval": "200ms"},
    }
    spec = python(code, f'{{{{ portForServing "{service}" }}}}', healthProbes=[probe], workingDirectory="/")
    talk.make("Executable", "a", spec, annotations=producer({"serviceName": service}))
    status = until(
        lambda: (found := talk.get("Executable", "a").get("status") or {}).get("healthStatus") == "Healthy" and found
    )
    return [(each["probeName"], each["outcome"]) for each in status["healthProbeResults"]]


@scenario("probe-of-a-missing-page")
def _(talk: Talk) -> Any:
    probe = {
        "name": "page",
        "type": "HTTP",
        "httpProbe": {"url": "http://127.0.0.1:1/"},
        "schedule": {"interval": "200ms"},
    }
    talk.make("Executable", "a", {**WAITS, "healthProbes": [probe]})
    status = until(
        lambda: (found := talk.get("Executable", "a").get("status") or {}).get("healthStatus") == "Unhealthy" and found
    )
    return [(each["probeName"], each["outcome"]) for each in status["healthProbeResults"]]
