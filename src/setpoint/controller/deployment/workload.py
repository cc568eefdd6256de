"""The Namespace and the Deployment of an operator."""

from setpoint.controller.deployment.operator import HEALTH_PORT, METRICS_PORT, WEBHOOK_PORT, Operator
from setpoint.controller.manager import GRACEFUL_SECONDS
from setpoint.objects.tree import Object

# Left for the release of the lease and the last events after the reconciles have ended.
_REST_SECONDS = 10


def namespace_object(operator: Operator) -> Object:
    """Returns the Namespace, with the strictest Pod Security Standard: the Deployment meets it."""
    labels = {**operator.labels(), "pod-security.kubernetes.io/enforce": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": operator.namespace, "labels": labels}}


def deployment_object(operator: Operator) -> Object:
    """Returns the Deployment, which runs `setpoint controllers run` without privileges and without write access to its
    file system."""
    labels = operator.labels()
    spec: Object = {
        "serviceAccountName": operator.name,
        "terminationGracePeriodSeconds": int(GRACEFUL_SECONDS) + _REST_SECONDS,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(operator)],
        "volumes": [{"name": "tmp", "emptyDir": {}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": operator.metadata(),
        "spec": {
            "replicas": operator.replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def command_arguments(operator: Operator) -> list[str]:
    """Returns the arguments of `setpoint` in the container."""
    found = ["controllers", "run", *operator.modules, f"--leader-election={operator.name}"]
    found += [f"--health=:{HEALTH_PORT}", f"--metrics=:{METRICS_PORT}"]
    if operator.secure_metrics:
        found.append("--secure-metrics")
    if operator.has_webhooks:
        found += [f"--webhook-service={operator.webhook_service}", f"--webhook-name={operator.name}"]
    return found


def _container(operator: Operator) -> Object:
    ports = [("health", HEALTH_PORT), ("metrics", METRICS_PORT)]
    if operator.has_webhooks:
        ports.append(("webhooks", WEBHOOK_PORT))
    return {
        "name": "operator",
        "image": operator.image,
        "command": ["setpoint"],
        "args": command_arguments(operator),
        "ports": [{"name": name, "containerPort": port} for name, port in ports],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "health"}, "initialDelaySeconds": 15},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "health"}},
        "resources": {"requests": {"cpu": "10m", "memory": "96Mi"}, "limits": {"memory": "256Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }
