"""The directory of an installation: YAML files, and a `kustomization.yaml` that lists them."""

from collections.abc import Iterable

from setpoint.client.client import Client
from setpoint.controller.deployment.operator import Operator
from setpoint.controller.deployment.roles import role_objects
from setpoint.controller.deployment.webhook_objects import definition_objects, webhook_objects
from setpoint.controller.deployment.workload import deployment_object, namespace_object
from setpoint.objects import yamltext
from setpoint.objects.tree import Object

KUSTOMIZATION = "kustomization.yaml"


async def installation(operator: Operator, client: Client) -> dict[str, list[Object]]:
    """Returns the objects of an installation by file, in the order of their creation."""
    files = {
        "namespace.yaml": [namespace_object(operator)],
        "crds.yaml": definition_objects(operator),
        "rbac.yaml": await role_objects(operator, client),
        "webhooks.yaml": await webhook_objects(operator, client),
        "deployment.yaml": [deployment_object(operator)],
    }
    return {name: objects for name, objects in files.items() if objects}


def kustomization(files: Iterable[str]) -> Object:
    """Returns the kustomization of a directory."""
    return {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": list(files)}


def text_of(objects: Iterable[Object]) -> str:
    """Returns objects as a YAML stream."""
    return "---\n".join(map(yamltext.dump, objects))
