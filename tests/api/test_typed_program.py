"""A program that uses the classes of several groups on a real server.

mypy reads it with the rest of the tests, by the stubs: each `type: ignore` stands where a mistake must be found, and
would itself be an error if it were not.
"""

from setpoint.api.apps.v1 import Deployment, DeploymentSpec
from setpoint.api.core.v1 import (
    ConfigMap,
    Container,
    ContainerPort,
    PodSpec,
    PodTemplateSpec,
    Secret,
    Service,
    ServicePort,
    ServiceSpec,
)
from setpoint.api.meta.v1 import LabelSelector, ObjectMeta
from setpoint.api.networking.v1 import NetworkPolicy, NetworkPolicySpec
from setpoint.api.rbac.v1 import PolicyRule, Role
from setpoint.client.client import Client
from setpoint.plane import ControlPlane
from setpoint.schema.types import freeze

LABELS = {"app": "blog"}


def deployment() -> Deployment:
    container = Container(name="web", image="nginx", ports=[ContainerPort(container_port=80)])
    return Deployment(
        metadata=ObjectMeta(name="blog", namespace="default"),
        spec=DeploymentSpec(
            replicas=2,
            selector=LabelSelector(match_labels=LABELS),
            template=PodTemplateSpec(metadata=ObjectMeta(labels=LABELS), spec=PodSpec(containers=[container])),
        ),
    )


async def _program(client: Client) -> None:
    made = await client.create(deployment())
    replicas: int | None = made.spec.replicas
    assert replicas == 2
    pods: PodSpec | None = made.spec.template.spec
    assert pods is not None
    assert pods.restart_policy == "Always"  # the server's default
    assert pods.containers[0].ports[0].protocol == "TCP"

    shared = freeze(await client.get(Deployment, "blog", "default"))
    edited = shared.edit()
    edited.spec.replicas = 3
    updated = await client.update(edited)
    assert updated.spec.replicas == 3
    assert updated.metadata.generation == 2

    meta = ObjectMeta(name="blog", namespace="default")
    ports = [ServicePort(port=80, target_port="http", app_protocol="kubernetes.io/h2c")]
    service = await client.create(Service(metadata=meta, spec=ServiceSpec(selector=LABELS, ports=ports)))
    assert service.spec.type == "ClusterIP"
    await client.apply(ConfigMap(metadata=meta, data={"a": "b"}), field_manager="me")
    secret = await client.create(Secret(metadata=meta, data={"a": b"b"}))
    assert secret.data == {"a": b"b"}
    rule = PolicyRule(verbs=["get"], api_groups=[""], resources=["pods"])
    role = await client.create(Role(metadata=meta, rules=[rule]))
    assert role.rules == [rule]
    policy = await client.create(NetworkPolicy(metadata=meta, spec=NetworkPolicySpec(pod_selector=LabelSelector())))
    assert policy.spec.policy_types == ["Ingress"]
    assert [item.metadata.name for item in (await client.list(ConfigMap, "default")).items if item.data] == ["blog"]


async def test_the_program_runs_on_a_server() -> None:
    async with ControlPlane() as plane, plane.client() as client:
        await _program(client)


def mistakes() -> None:
    """Never called: what mypy says about each line is what is tested."""
    Container(image="nginx")  # type: ignore[call-arg]
    Container(name=1)  # type: ignore[arg-type]
    Deployment().spec.replica = 1  # type: ignore[attr-defined]
    Deployment().spec.replicas = "1"  # type: ignore[assignment]
    Deployment(spec=PodSpec(containers=[]))  # type: ignore[arg-type]
    Deployment().kind = "Pod"  # type: ignore[misc]
