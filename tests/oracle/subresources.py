"""Requests for subresources, by the name of the subresource."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.oracle.merging import merged
from tests.oracle.options import write_query
from tests.oracle.request import Request
from tests.oracle.values import mutated, value

if TYPE_CHECKING:
    from tests.oracle.generator import Generator

_JSON = (("Content-Type", "application/json"),)
Maker = Callable[["Generator", str, frozenset[str]], Request]


def _status(made: "Generator", name: str, verbs: frozenset[str]) -> Request:
    """Reads, replaces or patches the status of an object."""
    target = made.pick()
    old = made.state.objects.get(target) or made.fresh(target)
    if made.random.random() < 0.25 and "get" in verbs:
        return made.request("GET", made.item(target, name), "get", subresource=name)
    tree = made.sendable(old)
    statuses = made.kind.template.get("statuses") or [{}]
    new = {**tree, "status": made.random.choice(statuses)}
    if made.bold():
        properties = made.kind.schema.get("properties", {})
        new = {**tree, "status": value(made.random, properties.get("status", {"type": "object"}), made.kind)}
        if made.random.random() < 0.5:
            new = mutated(made.random, new, made.kind)
    elif made.random.random() < 0.2:
        new = made.changed(new)
    if "patch" in verbs and made.random.random() < 0.5:
        return made.patch(target, tree, name, new)
    query = write_query(made)
    return made.request(
        "PUT", made.item(target, name), "update", subresource=name, query=query, headers=_JSON, body=new
    )


def _scale(made: "Generator", name: str, verbs: frozenset[str]) -> Request:
    target = made.pick()
    draw = made.random.random()
    if draw < 0.3:
        return made.request("GET", made.item(target, name), "get", subresource=name)
    replicas: Any = made.random.choice((-1, "x", None, 1.5) if made.bold() else (0, 1, 5))
    metadata = {"name": target, "namespace": "ns-{ep}"}
    if made.random.random() < 0.2 and (old := made.state.objects.get(target)):
        metadata["resourceVersion"] = old["metadata"].get("resourceVersion", "")
    tree = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata, "spec": {"replicas": replicas}}
    query = write_query(made)
    if draw < 0.6:
        kinds = {"merge": "merge-patch+json", "strategic": "strategic-merge-patch+json", "apply": "apply-patch+yaml"}
        kind = made.random.choice(("merge", "strategic", "apply"))
        headers = (("Content-Type", f"application/{kinds[kind]}"),)
        body: Any = tree if kind == "apply" else {"spec": {"replicas": replicas}}
        if kind == "apply":
            query = (*query, ("fieldManager", "m1"), ("force", "true"))
        path = made.item(target, name)
        return made.request(
            "PATCH", path, "patch", patch=kind, subresource=name, query=query, headers=headers, body=body
        )
    return made.request(
        "PUT", made.item(target, name), "update", subresource=name, query=query, headers=_JSON, body=tree
    )


def _posted(made: "Generator", name: str, body: dict[str, Any]) -> Request:
    if made.bold():
        body = mutated(made.random, body, made.kind)
    path = made.item(made.pick(), name)
    return made.request("POST", path, "create", subresource=name, query=write_query(made), headers=_JSON, body=body)


def _binding(made: "Generator", name: str, verbs: frozenset[str]) -> Request:
    body: dict[str, Any] = {"target": {"kind": "Node", "name": made.random.choice(("n1", "n2"))}}
    if made.random.random() < 0.7:
        body |= {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": made.pick()}}
    return _posted(made, name, body)


def _eviction(made: "Generator", name: str, verbs: frozenset[str]) -> Request:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": made.pick(), "namespace": "ns-{ep}"}}
    if made.random.random() < 0.4:
        body["deleteOptions"] = made.random.choice(({"gracePeriodSeconds": 0}, {"dryRun": ["All"]}, {}))
    return _posted(made, name, body)


def _token(made: "Generator", name: str, verbs: frozenset[str]) -> Request:
    spec: dict[str, Any] = made.random.choice(
        ({}, {"audiences": ["a"]}, {"expirationSeconds": 3600}, {"expirationSeconds": 601, "audiences": []})
    )
    if made.bold():
        spec = made.random.choice(
            ({"expirationSeconds": 1}, {"boundObjectRef": {"kind": "Pod", "name": "x"}}, {"expirationSeconds": 1 << 33})
        )
    return _posted(made, name, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})


def _ephemeral(made: "Generator", name: str, verbs: frozenset[str]) -> Request:
    added = {"name": f"e{made.random.randrange(3)}", "image": "busybox", "targetContainerName": "a"}
    return _changing(made, name, verbs, {"spec": {"ephemeralContainers": [added]}})


def _resize(made: "Generator", name: str, verbs: frozenset[str]) -> Request:
    container = {"name": "a", "resources": {"requests": {"cpu": made.random.choice(("100m", "200m", "1"))}}}
    return _changing(made, name, verbs, {"spec": {"containers": [container]}})


def _approval(made: "Generator", name: str, verbs: frozenset[str]) -> Request:
    condition = {"type": made.random.choice(("Approved", "Denied")), "status": "True", "reason": "R", "message": "m"}
    return _changing(made, name, verbs, {"status": {"conditions": [condition]}})


def _finalize(made: "Generator", name: str, verbs: frozenset[str]) -> Request:
    finalizers: list[str] = made.random.choice(([], ["kubernetes"], ["example.com/x"]))
    return _changing(made, name, verbs, {"spec": {"finalizers": finalizers}})


def _changing(made: "Generator", name: str, verbs: frozenset[str], patch: dict[str, Any]) -> Request:
    """Reads or changes an object through a subresource that changes a part of the object."""
    target = made.pick()
    draw = made.random.random()
    if draw < 0.2 and "get" in verbs:
        return made.request("GET", made.item(target, name), "get", subresource=name)
    if draw < 0.6 and "patch" in verbs:
        headers = (("Content-Type", "application/strategic-merge-patch+json"),)
        if made.bold():
            patch = mutated(made.random, patch, made.kind)
        path = made.item(target, name)
        return made.request(
            "PATCH",
            path,
            "patch",
            patch="strategic",
            subresource=name,
            query=write_query(made),
            headers=headers,
            body=patch,
        )
    tree = merged(made.sendable(made.state.objects.get(target) or made.fresh(target)), patch)
    if made.bold():
        tree = made.changed(tree)
    return made.request(
        "PUT", made.item(target, name), "update", subresource=name, query=write_query(made), headers=_JSON, body=tree
    )


def _log(made: "Generator", name: str, verbs: frozenset[str]) -> Request:
    query = made.random.choice(
        ((), (("container", "a"),), (("container", "zz"),), (("tailLines", "-1"),), (("follow", "x"),))
    )
    return made.request("GET", made.item(made.pick(), name), "get", subresource=name, query=query)


MAKERS: dict[str, Maker] = {
    "status": _status,
    "scale": _scale,
    "binding": _binding,
    "eviction": _eviction,
    "token": _token,
    "ephemeralcontainers": _ephemeral,
    "resize": _resize,
    "approval": _approval,
    "finalize": _finalize,
    "log": _log,
}
