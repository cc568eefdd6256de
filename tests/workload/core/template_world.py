"""Some objects that templates can ask about."""

import base64
from typing import Any

from setpoint.objects.frozen import freeze

WEB = {
    "apiVersion": "usvc-dev.developer.microsoft.com/v1",
    "kind": "Executable",
    "metadata": {
        "name": "web",
        "annotations": {"a/b": "note", "service-producer": '[{"serviceName":"later"},{"serviceName":"unborn"}]'},
    },
    "spec": {
        "executablePath": "/bin/web",
        "args": ["a", "b"],
        "serves": [{"service": "web"}, {"service": "admin", "port": 9000, "address": "0.0.0.0"}],
    },
    "status": {"pid": 77},
}


def service(name: str, address: str = "", port: int = 0) -> dict[str, Any]:
    status = {"effectiveAddress": address, "effectivePort": port} if port else {}
    return {"kind": "Service", "metadata": {"name": name}, "spec": {}, "status": status}


def encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()


OBJECTS: dict[tuple[str, str], Any] = {
    ("Service", "db"): service("db", "127.0.0.1", 5432),
    ("Service", "v6"): service("v6", "::1", 7000),
    ("Service", "new"): service("new"),
    ("Service", "web"): service("web"),
    ("Service", "later"): service("later"),
    ("Container", "cache"): {
        "kind": "Container",
        "metadata": {"name": "cache"},
        "spec": {"image": "redis"},
        "status": {
            "networks": ["front"],
            "effectiveEnv": [{"name": "PORT", "value": "6379"}, {"name": "TOKEN", "value": "******"}],
        },
    },
    ("Executable", "young"): {"kind": "Executable", "metadata": {"name": "young"}, "spec": {}},
}
SECRETS = {
    ("default", "db"): {"data": {"password": encoded(b"s3cret"), "binary": encoded(b"\xff\xfe")}},
    ("ops", "db"): {"data": {"password": encoded(b"0ps")}},
}


class World:
    """Some objects, frozen as a cache has them."""

    def object(self, kind: str, name: str) -> Any:
        found = OBJECTS.get((kind, name))
        return None if found is None else freeze(found)

    def secret(self, namespace: str, name: str) -> Any:
        return SECRETS.get((namespace, name))

    def reserved_port(self, service: str) -> int | None:
        return 5001 if service == "web" else None
