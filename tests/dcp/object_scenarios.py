"""Objects: their creation, validation and updates."""

from typing import Any

from tests.dcp.registry import SCENARIOS, WAITS, Scenario, producer, scenario
from tests.dcp.talk import JSON_PATCH, STRATEGIC, Talk, refusal
from tests.workload.session.instances import until

# Creation and validation

_VALID: dict[str, tuple[str, dict[str, Any]]] = {
    "executable": ("Executable", WAITS),
    "executable-of-ide": (
        "Executable",
        {**WAITS, "executionType": "IDE", "fallbackExecutionTypes": ["Process"], "start": False},
    ),
    "executable-without-path": ("Executable", {}),
    "executable-with-unknown-type": ("Executable", {**WAITS, "executionType": "Magic"}),
    "executable-with-same-fallback": ("Executable", {**WAITS, "fallbackExecutionTypes": ["Process"]}),
    "executable-with-repeated-fallback": (
        "Executable",
        {**WAITS, "executionType": "IDE", "fallbackExecutionTypes": ["Process", "Process"], "start": False},
    ),
    "executable-persistent-of-ide": ("Executable", {**WAITS, "executionType": "IDE", "persistent": True}),
    "executable-with-unknown-ambient": (
        "Executable",
        {**WAITS, "ambientEnvironment": {"behavior": "Sometimes"}, "start": False},
    ),
    "executable-with-unknown-field": ("Executable", {**WAITS, "speed": "fast", "start": False}),
    "executable-with-monitor-only": ("Executable", {**WAITS, "monitorPid": 1, "start": False}),
    "executable-persistent-with-monitor-without-time": (
        "Executable",
        {**WAITS, "persistent": True, "monitorPid": 1, "start": False},
    ),
    "executable-with-probe-without-name": (
        "Executable",
        {
            **WAITS,
            "start": False,
            "healthProbes": [
                {"type": "HTTP", "httpProbe": {"url": "http://localhost"}, "schedule": {"interval": "1s"}}
            ],
        },
    ),
    "executable-with-probe-without-interval": (
        "Executable",
        {
            **WAITS,
            "start": False,
            "healthProbes": [{"name": "a", "type": "HTTP", "httpProbe": {"url": "http://localhost"}, "schedule": {}}],
        },
    ),
    "executable-with-probe": (
        "Executable",
        {
            **WAITS,
            "start": False,
            "healthProbes": [
                {"name": "a", "type": "HTTP", "httpProbe": {"url": "http://localhost"}, "schedule": {"interval": "1s"}}
            ],
        },
    ),
    "executable-with-empty-certificates": (
        "Executable",
        {**WAITS, "start": False, "pemCertificates": {"certificates": []}},
    ),
    "executable-with-wide-terminal": ("Executable", {**WAITS, "start": False, "terminal": {"cols": 99999}}),
    "executable-with-terminal-to-connect": (
        "Executable",
        {**WAITS, "start": False, "terminal": {"socketMode": "connect"}},
    ),
    "executable-persistent-with-terminal": (
        "Executable",
        {**WAITS, "start": False, "persistent": True, "terminal": {}},
    ),
    "set": ("ExecutableReplicaSet", {"replicas": 0, "template": {"spec": WAITS}}),
    "set-without-template": ("ExecutableReplicaSet", {"replicas": 1}),
    "set-of-stopped": ("ExecutableReplicaSet", {"replicas": 0, "template": {"spec": {**WAITS, "stop": True}}}),
    "set-of-invalid": (
        "ExecutableReplicaSet",
        {"replicas": 0, "template": {"spec": {**WAITS, "executionType": "Magic"}}},
    ),
    "set-of-minus-one": ("ExecutableReplicaSet", {"replicas": -1, "template": {"spec": WAITS}}),
    "container": ("Container", {"image": "app", "start": False}),
    "container-without-image": ("Container", {"start": False}),
    "container-with-blank-in-image": ("Container", {"image": "an app", "start": False}),
    "container-with-bad-name": ("Container", {"image": "app", "containerName": "-a", "start": False}),
    "container-persistent-without-name": ("Container", {"image": "app", "persistent": True, "start": False}),
    "container-with-build-without-context": ("Container", {"build": {}, "start": False}),
    "container-with-lower-case-protocol": (
        "Container",
        {"image": "app", "start": False, "ports": [{"containerPort": 80, "protocol": "tcp"}]},
    ),
    "container-with-unknown-pull-policy": ("Container", {"image": "app", "pullPolicy": "maybe", "start": False}),
    "network": ("ContainerNetwork", {"ipv6": True}),
    "network-persistent-without-name": ("ContainerNetwork", {"persistent": True}),
    "volume-without-name": ("ContainerVolume", {}),
    "exec-without-command": ("ContainerExec", {"containerName": "none"}),
    "exec-without-container": ("ContainerExec", {"command": "true"}),
    "tunnel-without-network": ("ContainerNetworkTunnelProxy", {}),
    "tunnel-with-repeated-name": (
        "ContainerNetworkTunnelProxy",
        {
            "containerNetworkName": "none",
            "tunnels": [{"name": "a", "serverServiceName": "x", "clientServiceName": "y"}] * 2,
        },
    ),
    "service": ("Service", {"protocol": "TCP"}),
    "service-with-unknown-mode": ("Service", {"protocol": "TCP", "addressAllocationMode": "Everywhere"}),
    "endpoint": ("Endpoint", {"serviceName": "x", "address": "localhost", "port": 80}),
    "connection": ("ContainerNetworkConnection", {"containerNetworkName": "none", "containerID": "none"}),
}


def _creation(kind: str, spec: dict[str, Any]) -> Scenario:
    def run(talk: Talk) -> Any:
        answer = talk.make(kind, "a", spec)
        return {
            **refusal(answer),
            **({"spec": answer["tree"]["spec"].keys() >= spec.keys()} if answer["code"] < 300 else {}),
        }

    return run


for _name, (_kind, _spec) in _VALID.items():
    SCENARIOS[f"create-{_name}"] = _creation(_kind, _spec)


@scenario("create-twice")
def _(talk: Talk) -> Any:
    return [
        refusal(talk.make("Endpoint", "a", {"serviceName": "x", "address": "localhost", "port": 1})) for _ in range(2)
    ]


@scenario("create-with-too-many-annotations")
def _(talk: Talk) -> Any:
    return refusal(talk.make("Executable", "a", {**WAITS, "start": False}, annotations={"a": "x" * 300_000}))["code"]


@scenario("create-with-invalid-name")
def _(talk: Talk) -> Any:
    return refusal(talk.make("Endpoint", "A_b", {"serviceName": "x", "address": "localhost", "port": 1}))


_ENDPOINT = {"serviceName": "x", "address": "localhost", "port": 1}


@scenario("create-with-upper-case-name")
def _(talk: Talk) -> Any:
    made = talk.make("Endpoint", "Cache-Http", _ENDPOINT)
    return [refusal(made), talk.ask("GET", talk.path("Endpoint", "Cache-Http"))["code"]]


@scenario("create-with-slash-in-name")
def _(talk: Talk) -> Any:
    return refusal(talk.make("Endpoint", "a%2Fb/c", _ENDPOINT))["code"]


@scenario("run-with-upper-case-name")
def _(talk: Talk) -> Any:
    talk.make("Executable", "Web_App.1", WAITS)
    return talk.status("Executable", "Web_App.1", "Running")["healthStatus"]


@scenario("set-with-upper-case-name")
def _(talk: Talk) -> Any:
    talk.make("ExecutableReplicaSet", "Web", {"replicas": 1, "template": {"spec": WAITS}})
    status = until(
        lambda: (found := talk.get("ExecutableReplicaSet", "Web").get("status") or {}).get("runningReplicas") and found
    )
    return status["healthStatus"]


@scenario("service-with-upper-case-name")
def _(talk: Talk) -> Any:
    talk.make("Service", "Web", {"protocol": "TCP"})
    talk.make("Executable", "Web", WAITS, annotations=producer({"serviceName": talk.name("Web"), "port": 4324}))
    return talk.status("Service", "Web", "Ready")["state"]


@scenario("create-other-kind")
def _(talk: Talk) -> Any:
    tree = {
        "apiVersion": "usvc-dev.developer.microsoft.com/v1",
        "kind": "Executable",
        "metadata": {"name": "a"},
        "spec": WAITS,
    }
    return refusal(talk.ask("POST", talk.path("Service"), tree))["code"]


# Updates

_UPDATES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "start-again": ("Executable", {**WAITS, "start": True}, {"start": False}),
    "stop-unset": ("Executable", {**WAITS, "start": False, "stop": True}, {"stop": False}),
    "path": ("Executable", {**WAITS, "start": False}, {"executablePath": "/bin/true"}),
    "args": ("Executable", {**WAITS, "start": False}, {"args": ["1"]}),
    "environment": ("Executable", {**WAITS, "start": False}, {"ambientEnvironment": {"behavior": "DoNotInherit"}}),
    "persistence": ("Executable", {**WAITS, "start": False}, {"persistent": True}),
    "certificates": (
        "Executable",
        {**WAITS, "start": False},
        {"pemCertificates": {"certificates": [{"thumbprint": "a", "contents": "b"}]}},
    ),
    "replicas": (
        "ExecutableReplicaSet",
        {"replicas": 0, "template": {"spec": WAITS}},
        {"replicas": 0, "stopOnScaleDown": True},
    ),
    "image": ("Container", {"image": "app", "start": False}, {"image": "other"}),
    "container-name": ("Container", {"image": "app", "start": False}, {"containerName": "other"}),
    "network-name": ("ContainerNetwork", {"networkName": "never-made-1"}, {"networkName": "other"}),
    "volume-name": ("ContainerVolume", {"name": "never-made-2"}, {"name": "other"}),
    "exec-command": ("ContainerExec", {"containerName": "none", "command": "true"}, {"command": "false"}),
    "tunnel-network": (
        "ContainerNetworkTunnelProxy",
        {"containerNetworkName": "none"},
        {"containerNetworkName": "other"},
    ),
    "endpoint-port": ("Endpoint", {"serviceName": "x", "address": "localhost", "port": 80}, {"port": 81}),
}


def _update(kind: str, spec: dict[str, Any], change: dict[str, Any]) -> Scenario:
    def run(talk: Talk) -> Any:
        talk.make(kind, "a", spec)
        return refusal(talk.patch(kind, "a", {"spec": change}))

    return run


for _name, (_kind, _spec, _change) in _UPDATES.items():
    SCENARIOS[f"update-{_name}"] = _update(_kind, _spec, _change)


@scenario("patch-strategic-replaces-lists")
def _(talk: Talk) -> Any:
    talk.make("Executable", "a", {**WAITS, "start": False, "env": [{"name": "A", "value": "1"}]})
    answer = talk.patch("Executable", "a", {"spec": {"env": [{"name": "B", "value": "2"}]}}, STRATEGIC)
    return [answer["code"], answer["tree"]["spec"]["env"]]


@scenario("patch-strategic-labels")
def _(talk: Talk) -> Any:
    talk.make("Endpoint", "a", {"serviceName": "x", "address": "localhost", "port": 1}, labels={"a": "1"})
    answer = talk.patch("Endpoint", "a", {"metadata": {"labels": {"b": "2"}}}, STRATEGIC)
    return [answer["code"], answer["tree"]["metadata"]["labels"]]


@scenario("patch-json")
def _(talk: Talk) -> Any:
    talk.make("Executable", "a", {**WAITS, "start": False})
    change = [
        {"op": "add", "path": "/spec/args", "value": ["7"]},
        {"op": "test", "path": "/spec/executablePath", "value": "/bin/sleep"},
    ]
    answer = talk.patch("Executable", "a", change, JSON_PATCH)
    return [answer["code"], answer["tree"]["spec"]["args"]]


@scenario("patch-json-of-missing-path")
def _(talk: Talk) -> Any:
    talk.make("Executable", "a", {**WAITS, "start": False})
    return refusal(talk.patch("Executable", "a", [{"op": "remove", "path": "/spec/none"}], JSON_PATCH))["code"]


@scenario("patch-of-unknown-type")
def _(talk: Talk) -> Any:
    talk.make("Executable", "a", {**WAITS, "start": False})
    return refusal(talk.patch("Executable", "a", {}, "text/plain"))["code"]


@scenario("patch-of-missing-object")
def _(talk: Talk) -> Any:
    return refusal(talk.patch("Executable", "none", {"spec": {"stop": True}}))


@scenario("patch-with-old-version")
def _(talk: Talk) -> Any:
    talk.make("Executable", "a", {**WAITS, "start": False})
    return refusal(talk.patch("Executable", "a", {"metadata": {"resourceVersion": "1"}, "spec": {"stop": True}}))
