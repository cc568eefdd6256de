"""A strategic merge of a Pod of about 2 KB with a patch as `kubectl apply` sends it."""

from collections.abc import Iterable

import msgspec

from bench.measure import Case
from setpoint.merge import strategic
from setpoint.schema import builtin

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web-7d4b9c6f5-x2x9k",
        "generateName": "web-7d4b9c6f5-",
        "namespace": "shop",
        "uid": "3f0c1d52-6a0e-4d6e-9c1c-0c8f1b1f6f11",
        "resourceVersion": "184467",
        "creationTimestamp": "2026-01-12T09:30:00Z",
        "labels": {"app": "web", "tier": "frontend", "pod-template-hash": "7d4b9c6f5"},
        "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "9090"},
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": "web-7d4b9c6f5",
                "uid": "a1b2c3d4-1111-4222-8333-444455556666",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    },
    "spec": {
        "volumes": [
            {"name": "config", "configMap": {"name": "web-config", "defaultMode": 420}},
            {"name": "cache", "emptyDir": {"sizeLimit": "256Mi"}},
        ],
        "containers": [
            {
                "name": "web",
                "image": "registry.example.com/shop/web:1.14.2",
                "args": ["--listen=:8080", "--log-format=json"],
                "ports": [
                    {"name": "http", "containerPort": 8080, "protocol": "TCP"},
                    {"name": "metrics", "containerPort": 9090, "protocol": "TCP"},
                ],
                "env": [
                    {"name": "LOG_LEVEL", "value": "info"},
                    {"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}},
                    {"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}},
                ],
                "resources": {"limits": {"memory": "512Mi"}, "requests": {"cpu": "250m", "memory": "256Mi"}},
                "volumeMounts": [
                    {"name": "config", "mountPath": "/etc/web", "readOnly": True},
                    {"name": "cache", "mountPath": "/var/cache/web"},
                ],
                "readinessProbe": {
                    "httpGet": {"path": "/ready", "port": 8080, "scheme": "HTTP"},
                    "timeoutSeconds": 1,
                    "periodSeconds": 10,
                    "successThreshold": 1,
                    "failureThreshold": 3,
                },
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "imagePullPolicy": "IfNotPresent",
            },
            {
                "name": "proxy",
                "image": "registry.example.com/mesh/proxy:0.9",
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "imagePullPolicy": "IfNotPresent",
            },
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "web",
        "schedulerName": "default-scheduler",
        "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "web", "effect": "NoSchedule"}],
    },
    "status": {"phase": "Running", "qosClass": "Burstable", "podIP": "10.1.2.3"},
}

# What `kubectl apply` sends for a new image and one more variable.
PATCH = {
    "metadata": {"annotations": {"example.com/revision": "12"}},
    "spec": {
        "$setElementOrder/containers": [{"name": "web"}],
        "containers": [
            {
                "$setElementOrder/env": [{"name": "LOG_LEVEL"}, {"name": "POD_IP"}, {"name": "FEATURES"}],
                "env": [{"name": "FEATURES", "value": "a,b"}],
                "image": "registry.example.com/shop/web:1.15.0",
                "name": "web",
            }
        ],
    },
}

# What a controller sends to set a label and an image.
SMALL_PATCH = {
    "metadata": {"labels": {"version": "1.15.0"}},
    "spec": {"containers": [{"name": "web", "image": "registry.example.com/shop/web:1.15.0"}]},
}


def cases() -> Iterable[Case]:
    schema = strategic.PatchSchemas(builtin.resolve)["#/definitions/io.k8s.api.core.v1.Pod"]
    document = msgspec.json.encode(POD)
    yield Case(
        "strategic merge of a Pod, patch of kubectl apply", document, lambda: strategic.merge(POD, PATCH, schema), 4
    )
    yield Case("strategic merge of a Pod, small patch", document, lambda: strategic.merge(POD, SMALL_PATCH, schema), 4)
