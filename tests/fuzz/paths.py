"""The paths that a server serves, taken from its own discovery documents, and requests for them in odd shapes."""

import base64
import json
from random import Random
from typing import Any, NamedTuple
from urllib.parse import quote

from tests.server.damage import JUNK, MEDIA_TYPES, NAMES, PARAMETERS, SEGMENTS, VALUES, Asked

from setpoint.objects.tree import Json, copy

METHODS = ("GET", "GET", "GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW")
NAMESPACES = (
    *("default", "tenant", "tenant", "other", "kube-system", "nope", "", ".", "..", "%2e%2e", "default%2Ftenant", "*"),
    *("Tenant", "a" * 64, "%C3%BC", "%00", "%ff", "tenant%20", "tenant;x", "namespaces"),
)
OBJECTS = ("o0", "o1", "kubernetes", "default", "tenant", "admin", "nope", "a" * 254, *SEGMENTS)
PATCHES = (
    *("application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json"),
    *("application/apply-patch+yaml", "application/json-patch+json"),
)
MOMENTS = (
    *("0", "1", "5", "-1", "9" * 20, "9" * 5000, "1e3", "2026-01-31T12:00:00Z", "2026-13-31T12:00:00Z", "-5m", "5m"),
    *("now", "", "0x10", "١", "1 ", "1.5", "9999-12-31T23:59:59Z", "0000-00-00T00:00:00Z", "NaN"),
)
POINTERS = (
    *("", "/", "/metadata", "/metadata/labels", "/metadata/labels/a", "/metadata/name", "/spec", "/data", "/data/a"),
    *("/~", "/~2", "/~0~1", "/-", "/metadata/finalizers/-", "/metadata/finalizers/0", "/metadata/finalizers/-1", "a"),
    *("/metadata/finalizers/99999999999999999999", "/metadata/finalizers/01", "/" * 3000, "/\ud800", "/status"),
)
OPERATIONS = ("add", "remove", "replace", "move", "copy", "test", "", "ADD", "merge")
QUANTITIES = (
    *("1e9999999", "9" * 400 + "Gi", "0." + "0" * 400 + "1", "1E", "١", "-1", "1e-9999999", "Ei", ".", "1.1.1", "0x1"),
    *("+1", "1e+", "9223372036854775807Ei", "--1", "1 Gi", "NaN", "Infinity"),
)
OWN = "/apis/setpoint.dev/v1"
OWN_RESOURCES = ("revisions", "ownership", "purge", "purges", "causes", "history", "apps", "tasks")
OWN_PARAMETERS = (
    *("after", "limit", "objects", "time", "at", "watch", "sendInitialEvents", "resourceVersion", "continue"),
    *("includeObject", "confirm", "before", "timeoutSeconds", "fieldSelector", "labelSelector"),
)


class Served(NamedTuple):
    """A resource or subresource by the discovery documents."""

    prefix: str
    name: str
    namespaced: bool


def odd_request(served: list[Served], plain: list[str], random: Random) -> Asked:
    """A request for a served path: any method, any scope, any options."""
    if random.random() < 0.05:
        path = random.choice(plain) + random.choice(("", "", "/", "/x", "/..", "//"))
    else:
        path = _path(random.choice(served), random)
    method = random.choice(METHODS)
    headers = {"accept": random.choice(MEDIA_TYPES) if random.random() < 0.3 else "application/json"}
    body: Json | bytes = None
    if method in ("POST", "PUT", "PATCH", "DELETE"):
        kinds = PATCHES if method == "PATCH" else ("application/json",)
        headers["content-type"] = random.choice(MEDIA_TYPES if random.random() < 0.1 else kinds)
        body = _patch(headers["content-type"], random) if method == "PATCH" else _body(random)
    return Asked(method, path, options(random), headers, body)


def own_request(served: list[Served], random: Random) -> Asked:
    """A request for something of Setpoint's own group, which discovery does not list."""
    scope = f"/namespaces/{random.choice(NAMESPACES)}" if random.random() < 0.5 else ""
    if random.random() < 0.5:
        resource = random.choice(served)
        group = resource.prefix.split("/")[2] if resource.prefix.startswith("/apis/") else ""
        plural = resource.name.partition("/")[0] + random.choice((f".{group}" if group else "", "", ".zz", "."))
        below = random.choice(("history", "history", "history", "status", "purge", ""))
        path = f"{OWN}{scope}/{plural}/{random.choice(OBJECTS)}/{below}"
    else:
        path = f"{OWN}{scope}/{random.choice(OWN_RESOURCES)}" + random.choice(("", "", "", "/", "/o0", "/o0/history"))
    values = (*MOMENTS, *VALUES)
    query = tuple((random.choice(OWN_PARAMETERS), random.choice(values)) for _ in range(random.choice((0, 1, 1, 2, 3))))
    method = random.choice((*METHODS, "GET", "GET", "GET"))
    body = _body(random) if method in ("POST", "PUT", "PATCH", "DELETE") else None
    return Asked(method, path, query, {"accept": "application/json", "content-type": "application/json"}, body)


def options(random: Random) -> tuple[tuple[str, str], ...]:
    """Some query parameters, with values that are seldom right."""
    found = []
    for _ in range(random.choice((0, 0, 1, 1, 2, 4))):
        name = random.choice((*PARAMETERS, "at", "time", "follow", "container", "command", "tailLines", "sinceTime"))
        if name in ("at", "time", "resourceVersion", "sinceTime"):
            value = random.choice(MOMENTS)
        elif name == "continue":
            value = _token(random)
        else:
            value = random.choice(VALUES)
        found.append((name, value))
    return tuple(found)


def _token(random: Random) -> str:
    fields: dict[str, Any] = {"v": "meta.k8s.io/v1", "rv": random.choice((1, 5, 10**6)), "start": "tenant/o0"}
    match random.randrange(6):
        case 0:
            return random.choice(VALUES)
        case 1:
            fields[random.choice(("v", "rv", "start", "zz"))] = copy(random.choice(JUNK))
        case 2:
            fields["start"] = random.choice(("../../../etc", "/", "\0", "other/o0", "a" * 5000))
        case 3:
            del fields[random.choice(tuple(fields))]
    token = base64.urlsafe_b64encode(json.dumps(fields).encode()).decode()
    return token[: random.randrange(len(token))] if random.random() < 0.2 else token.rstrip("=")


def _path(resource: Served, random: Random) -> str:
    name, _, below = resource.name.partition("/")
    scoped = resource.namespaced if random.random() < 0.8 else not resource.namespaced
    path = resource.prefix
    if random.random() < 0.03:
        path += "/watch"
    if scoped:
        path += f"/namespaces/{random.choice(NAMESPACES[:4] if random.random() < 0.7 else NAMESPACES)}"
    path += f"/{name}"
    if below or random.random() < 0.6:
        path += f"/{random.choice(OBJECTS[:4] if random.random() < 0.7 else OBJECTS)}"
    if below:
        path += f"/{below}"
    if random.random() < 0.1:
        path += f"/{random.choice(('history', 'status', 'scale', 'proxy', 'proxy/a/b', 'log', '..', '', 'zz'))}"
    return path


def _patch(media_type: str, random: Random) -> Json | bytes:
    if media_type.startswith("application/json-patch"):
        operations: list[Json] = []
        for _ in range(random.choice((0, 1, 2, 5, 40))):
            operation: dict[str, Json] = {"op": random.choice(OPERATIONS), "path": random.choice(POINTERS)}
            if random.random() < 0.7:
                operation["value"] = copy(random.choice(JUNK))
            if operation["op"] in ("move", "copy"):
                operation["from"] = random.choice(POINTERS)
            operations.append(operation if random.random() < 0.97 else copy(random.choice(JUNK)))
        return operations if random.random() < 0.95 else copy(random.choice(JUNK))
    tree = _body(random)
    if isinstance(tree, dict) and random.random() < 0.5:
        tree["$patch"] = random.choice(("delete", "replace", "merge", "zz", None, 1))
        tree["$setElementOrder/a"] = copy(random.choice(JUNK))
    return tree


def _body(random: Random) -> Json | bytes:
    match random.randrange(9):
        case 0:
            return None
        case 1:
            return copy(random.choice(JUNK))
        case 2:
            depth = random.choice((50, 500, 5000, 50_000))
            opening = random.choice((b"[", b'{"a":', b'{"metadata":', b'{"spec":[{"a":'))
            return opening * depth + (b"1" if random.random() < 0.5 else b"")
        case 3:
            digits = random.choice((b"9" * 400, b"9" * 5000, b"1e999999", b"-0", b"1" + b"0" * 4400, b"0.1e-99999"))
            return (
                b'{"kind":"ConfigMap","metadata":{"name":"o0","generation":'
                + digits
                + b'},"data":{"a":'
                + digits
                + b"}}"
            )
        case 4:
            limits = {name: random.choice(QUANTITIES) for name in ("cpu", "memory", "pods", random.choice(QUANTITIES))}
            kind = random.choice(("ResourceQuota", "LimitRange", "Pod", "PersistentVolumeClaim"))
            container = {"name": "c", "image": "i", "resources": {"limits": limits, "requests": limits}}
            spec = {"hard": limits, "limits": [{"type": "Container", "max": limits}], "containers": [container]}
            return {
                "apiVersion": "v1",
                "kind": kind,
                "metadata": {"name": "o0"},
                "spec": {**spec, "resources": {"limits": limits}},
            }
        case 5:
            options: dict[str, Json] = {
                "kind": "DeleteOptions",
                "apiVersion": random.choice(("v1", "meta.k8s.io/v1", "zz/v9")),
            }
            options["preconditions"] = random.choice(
                ({"uid": "a"}, {"resourceVersion": "x"}, copy(random.choice(JUNK)))
            )
            options[random.choice(("gracePeriodSeconds", "propagationPolicy", "dryRun"))] = copy(random.choice(JUNK))
            return options
        case 6:
            kind = random.choice(
                ("TokenRequest", "Eviction", "Binding", "Scale", "SubjectAccessReview", "TokenReview", "PodExecOptions")
            )
            group = random.choice(
                ("v1", "policy/v1", "autoscaling/v1", "authentication.k8s.io/v1", "authorization.k8s.io/v1")
            )
            spec = {random.choice(NAMES): copy(random.choice(JUNK)), "replicas": copy(random.choice(JUNK))}
            spec |= {"audiences": copy(random.choice(JUNK)), "expirationSeconds": copy(random.choice(JUNK))}
            return {"apiVersion": group, "kind": kind, "metadata": {"name": "o0"}, "spec": spec}
        case 7:
            meta = {random.choice(NAMES): copy(random.choice(JUNK)) for _ in range(3)}
            owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o1", "uid": random.choice(("u", "", None))}
            fields = {
                "manager": "m",
                "operation": "Apply",
                "fieldsType": "FieldsV1",
                "fieldsV1": copy(random.choice(JUNK)),
            }
            meta |= {"name": "o0", "ownerReferences": [owner] * random.choice((0, 1, 3)), "managedFields": [fields]}
            return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": copy(random.choice(JUNK))}
        case _:
            metadata = b'"metadata":{"name":"o0","name":"o1"}'
            return b'{"kind":"ConfigMap","apiVersion":"v1",' + metadata + b',"data":{"a":"1","a":"\\ud800"}}'


def target(asked: Asked) -> str:
    """The request target; what a path or query may not have as it is stays, so that it reaches the server."""
    query = "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in asked.query)
    return f"{asked.path}?{query}" if query else asked.path


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"))
