"""A realistic custom resource of about 2 KB, and the schema of its kind, for every benchmark to share.

It has what real ones have: nested objects, lists of objects keyed by name, maps of strings, enums, patterns, bounded
numbers, int-or-string, defaults that are mostly written out by the time the server sees the object, and a status.
"""

from typing import Any

import msgspec

GROUP, VERSION, KIND, PLURAL = "data.example.com", "v1", "Database", "databases"

_NAME = {"type": "string", "minLength": 1, "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}
_QUANTITY = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
    "x-kubernetes-int-or-string": True,
}
_STRING_MAP = {"type": "object", "additionalProperties": {"type": "string"}}

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": {
            "type": "object",
            "required": ["engine", "version", "instances"],
            "properties": {
                "engine": {"type": "string", "enum": ["postgres", "mysql", "mariadb"]},
                "version": {"type": "string", "pattern": r"^\d+(\.\d+){0,2}$"},
                "instances": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 9, "default": 1},
                "paused": {"type": "boolean", "default": False},
                "storage": {
                    "type": "object",
                    "required": ["size"],
                    "properties": {
                        "size": _QUANTITY,
                        "className": {"type": "string", "maxLength": 253},
                        "accessModes": {
                            "type": "array",
                            "x-kubernetes-list-type": "set",
                            "items": {"type": "string", "enum": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"]},
                        },
                    },
                },
                "parameters": _STRING_MAP,
                "resources": {
                    "type": "object",
                    "properties": {
                        "limits": {"type": "object", "additionalProperties": _QUANTITY},
                        "requests": {"type": "object", "additionalProperties": _QUANTITY},
                    },
                },
                "users": {
                    "type": "array",
                    "maxItems": 64,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "name": _NAME,
                            "roles": {"type": "array", "items": {"type": "string"}},
                            "secretRef": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {"name": _NAME, "key": {"type": "string", "default": "password"}},
                            },
                            "connectionLimit": {"type": "integer", "minimum": -1, "default": -1},
                        },
                    },
                },
                "ports": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port", "protocol"],
                    "items": {
                        "type": "object",
                        "required": ["port"],
                        "properties": {
                            "name": _NAME,
                            "port": {"type": "integer", "minimum": 1, "maximum": 65535},
                            "protocol": {"type": "string", "enum": ["TCP", "UDP"], "default": "TCP"},
                            "targetPort": {"x-kubernetes-int-or-string": True},
                        },
                    },
                },
                "backup": {
                    "type": "object",
                    "properties": {
                        "schedule": {"type": "string", "minLength": 9},
                        "retentionDays": {"type": "integer", "minimum": 1, "maximum": 365, "default": 7},
                        "destination": {"type": "string", "pattern": "^(s3|gs|azure)://[^/]+(/.*)?$"},
                        "compression": {"type": "string", "enum": ["none", "gzip", "zstd"], "default": "gzip"},
                        "sampleRate": {"type": "number", "minimum": 0, "maximum": 1},
                    },
                },
                "affinity": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        },
        "status": {
            "type": "object",
            "properties": {
                "observedGeneration": {"type": "integer", "format": "int64"},
                "readyInstances": {"type": "integer", "format": "int32"},
                "phase": {"type": "string"},
                "conditions": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["type"],
                    "items": {
                        "type": "object",
                        "required": ["type", "status", "lastTransitionTime", "reason", "message"],
                        "properties": {
                            "type": {"type": "string", "maxLength": 316},
                            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                            "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
                            "lastTransitionTime": {"type": "string", "format": "date-time"},
                            "reason": {
                                "type": "string",
                                "minLength": 1,
                                "maxLength": 1024,
                                "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                            },
                            "message": {"type": "string", "maxLength": 32768},
                        },
                    },
                },
            },
        },
    },
}

OBJECT: dict[str, Any] = {
    "apiVersion": f"{GROUP}/{VERSION}",
    "kind": KIND,
    "metadata": {
        "name": "orders",
        "namespace": "shop",
        "uid": "6f1c3a0e-54c8-4f0e-9c39-0d9e4d3d2a11",
        "resourceVersion": "48213",
        "generation": 4,
        "creationTimestamp": "2026-03-01T09:30:00Z",
        "labels": {"app.kubernetes.io/name": "orders", "app.kubernetes.io/part-of": "shop", "tier": "data"},
        "annotations": {"example.com/owner": "team-orders", "example.com/ticket": "OPS-1187"},
    },
    "spec": {
        "engine": "postgres",
        "version": "16.4",
        "instances": 3,
        "storage": {"size": "100Gi", "className": "fast-ssd", "accessModes": ["ReadWriteOnce"]},
        "parameters": {
            "max_connections": "400",
            "shared_buffers": "4GB",
            "work_mem": "16MB",
            "effective_cache_size": "12GB",
            "wal_level": "logical",
            "log_min_duration_statement": "500",
        },
        "resources": {
            "limits": {"cpu": "4", "memory": "16Gi"},
            "requests": {"cpu": 2, "memory": "8Gi", "ephemeral-storage": "1.5Gi"},
        },
        "users": [
            {
                "name": "orders-app",
                "roles": ["read", "write"],
                "secretRef": {"name": "orders-app"},
                "connectionLimit": 200,
            },
            {"name": "reporting", "roles": ["read"], "secretRef": {"name": "reporting", "key": "pw"}},
            {"name": "migrations", "roles": ["read", "write", "ddl"], "secretRef": {"name": "migrations"}},
        ],
        "ports": [
            {"name": "sql", "port": 5432, "protocol": "TCP", "targetPort": "sql"},
            {"name": "metrics", "port": 9187, "targetPort": 9187},
        ],
        "backup": {
            "schedule": "15 2 * * *",
            "retentionDays": 14,
            "destination": "s3://backups/orders",
            "sampleRate": 0.25,
        },
        "affinity": {"nodeAffinity": {"required": [{"key": "disk", "operator": "In", "values": ["ssd", "nvme"]}]}},
    },
    "status": {
        "observedGeneration": 4,
        "readyInstances": 3,
        "phase": "Running",
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "observedGeneration": 4,
                "lastTransitionTime": "2026-03-01T09:34:12Z",
                "reason": "AllInstancesReady",
                "message": "3 of 3 instances are ready",
            },
            {
                "type": "BackedUp",
                "status": "True",
                "lastTransitionTime": "2026-03-02T02:17:40Z",
                "reason": "LastBackupSucceeded",
                "message": "",
            },
            {
                "type": "Upgrading",
                "status": "False",
                "observedGeneration": 4,
                "lastTransitionTime": "2026-02-27T18:05:09Z",
                "reason": "UpToDate",
                "message": "every instance runs 16.4",
            },
        ],
    },
}

DOCUMENT: bytes = msgspec.json.encode(OBJECT)
