"""The requests of an episode: a seeded sequence of actions on a few objects of one kind."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import yaml
from tests.oracle.comparison import RESTLESS
from tests.oracle.kinds import Kind
from tests.oracle.merging import json_patch, merge_patch, merged
from tests.oracle.options import (
    ACCEPT,
    CONTENT_TYPES,
    PATCHES,
    broken_body,
    delete_options,
    list_query,
    odd_query,
    write_query,
)
from tests.oracle.request import Request
from tests.oracle.subresources import MAKERS
from tests.oracle.users import ADMIN
from tests.oracle.values import mutated, value

_JSON = ("Content-Type", "application/json")
_OTHERS = ("editor", "viewer", "nobody", "anonymous", "stranger")


@dataclass
class State:
    """The objects of an episode as the real server last answered, in canonical form, and the tokens of pages."""

    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    created: int = 0
    pages: int = 0


class Generator:
    """Draws the next request from the state of the episode."""

    def __init__(self, random: Random, kind: Kind, boldness: float) -> None:
        """`boldness`: the share of requests that may be invalid."""
        self.random = random
        self.kind = kind
        self.boldness = boldness
        self.state = State()
        actions: list[tuple[float, str, Callable[[], Request]]] = [
            (3, "create", self._create),
            (2, "get", self._get),
            (2.5, "list", self._list),
            (3, "update", self._update),
            (6, "patch", self._patch),
            (1.2, "delete", self._delete),
            (0.4, "deletecollection", self._delete_collection),
            (0.3, "get", self._odd),
        ]
        self._actions = [(weight, make) for weight, verb, make in actions if verb in kind.verbs or verb == "get"]
        for name, verbs in sorted(kind.subresources.items()):
            if make := MAKERS.get(name):
                # A status has as many forms of writes as the object.
                weight = 2.6 if name == "status" else 1.3
                self._actions.append((weight, lambda name=name, verbs=verbs, make=make: make(self, name, verbs)))  # type: ignore[misc]

    def next(self) -> Request:
        """The next request; the first ones create objects."""
        if "create" in self.kind.verbs and not self.state.objects and self.random.random() < 0.85:
            request = self._create()
        else:
            weights = [weight for weight, _ in self._actions]
            [(_, make)] = self.random.choices(self._actions, weights)
            request = make()
        return self._varied(request)

    def bold(self) -> bool:
        return self.random.random() < self.boldness

    def pick(self) -> str:
        """The name of an object of the episode, mostly an existing one."""
        names = sorted(self.state.objects)
        if names and not (self.bold() and self.random.random() < 0.15):
            return self.random.choice(names)
        return self.name(self.random.randrange(4))

    def name(self, number: int) -> str:
        pattern: str = self.kind.template.get("name", "")
        return pattern or f"o{number}-{{ep}}"

    def item(self, name: str, subresource: str = "") -> str:
        path = f"{self.kind.collection()}/{name}"
        return f"{path}/{subresource}" if subresource else path

    def request(self, method: str, path: str, verb: str, **more: Any) -> Request:
        return Request(method, path, kind=self.kind.name, verb=verb, **more)

    def fresh(self, name: str) -> dict[str, Any]:
        """A valid object of the kind."""
        template = self.kind.template
        tree: dict[str, Any] = {"apiVersion": self.kind.api_version, "kind": self.kind.kind}
        if not template.get("bare"):
            tree["metadata"] = self._metadata(name)
        return {**tree, **_filled(template.get("valid") or template["object"])}

    def changed(self, tree: dict[str, Any]) -> dict[str, Any]:
        """A changed object: mostly by a valid change of the template."""
        if self.bold():
            for _ in range(self.random.choice((1, 1, 1, 2, 3))):
                tree = mutated(self.random, tree, self.kind)
            return tree
        changes = [
            {"metadata": {"labels": {"x": str(self.random.randrange(3))}}},
            {"metadata": {"annotations": {"y": self.random.choice(("1", "", "long " * 9))}}},
            *self.kind.template.get("changes", ()),
        ]
        found: dict[str, Any] = merged(tree, _filled(self.random.choice(changes)))
        return found

    def sendable(self, tree: dict[str, Any]) -> dict[str, Any]:
        """An object as a client sends it back."""
        metadata = {
            key: part
            for key, part in tree.get("metadata", {}).items()
            if key not in ("managedFields", "creationTimestamp")
        }
        if self.random.random() < 0.3 or self.kind.name.startswith(RESTLESS):
            metadata.pop("resourceVersion", None)
        if self.random.random() < 0.3:
            metadata.pop("uid", None)
        return {**tree, "metadata": metadata}

    def _metadata(self, name: str) -> dict[str, Any]:
        metadata: dict[str, Any] = {"name": name, "labels": {"ep": "{ep}"}}
        if self.kind.namespaced and self.random.random() < 0.3:
            metadata["namespace"] = "ns-{ep}"
        if self.random.random() < 0.15:
            metadata["finalizers"] = ["example.com/f"]
        if self.random.random() < 0.2:
            metadata["annotations"] = {"a": "b"}
        return metadata

    def _create(self) -> Request:
        self.state.created += 1
        number = self.state.created if not self.bold() else self.random.randrange(3)
        name = self.name((number - 1) % 6)
        tree = self.fresh(name)
        if self.bold():
            tree = self.changed(tree)
        generated = self.random.random() < 0.06 and "name" not in self.kind.template
        if generated and isinstance(tree.get("metadata"), dict):
            tree["metadata"].pop("name", None)
            tree["metadata"]["generateName"] = "gen-{ep}-"
        if self.bold() and self.random.random() < 0.1:
            tree.pop(self.random.choice(("apiVersion", "kind", "metadata")), None)
        body: Any = tree
        headers = (_JSON,)
        if self.random.random() < 0.08:
            headers, body = (("Content-Type", "application/yaml"),), yaml.safe_dump(tree).encode()
        return self.request(
            "POST", self.kind.collection(), "create", query=write_query(self), headers=headers, body=body
        )

    def _get(self) -> Request:
        method = "HEAD" if self.random.random() < 0.03 else "GET"
        query = odd_query(self) if self.bold() and self.random.random() < 0.3 else ()
        return self.request(method, self.item(self.pick()), "get", query=query, headers=self._accept())

    def _list(self) -> Request:
        query = list_query(self)
        everywhere = self.kind.namespaced and self.random.random() < 0.2
        selected = any(key == "labelSelector" for key, _ in query)
        if (everywhere or not self.kind.namespaced) and not selected:
            query = (*query, ("labelSelector", "ep={ep}"))
        path = self.kind.collection(None if everywhere else "ns-{ep}")
        return self.request("GET", path, "list", query=query, headers=self._accept())

    def _update(self) -> Request:
        name = self.pick()
        tree = self.state.objects.get(name) or self.fresh(name)
        tree = self.changed(self.sendable(tree))
        headers = (_JSON, *self._accept(0.05))
        return self.request("PUT", self.item(name), "update", query=write_query(self), headers=headers, body=tree)

    def _patch(self) -> Request:
        name = self.pick()
        return self.patch(name, self.state.objects.get(name) or self.fresh(name), "")

    def patch(self, name: str, tree: dict[str, Any], subresource: str, new: dict[str, Any] | None = None) -> Request:
        """A patch of any type that changes the object as drawn, or to `new`."""
        kind = self.random.choice(PATCHES)
        if kind == "strategic" and "example.com" in self.kind.group and not self.bold():
            kind = "merge"
        new = new if new is not None else self.changed(tree)
        query = write_query(self)
        body: Any = merge_patch(tree, new)
        if kind == "json":
            body = json_patch(tree, new)
            if self.bold() and body:
                extra = {"op": self.random.choice(("test", "move", "copy", "remove", "nop")), "path": body[0]["path"]}
                body = [*body, {**extra, "from": "/metadata/name", "value": "x"}]
        elif kind.startswith("apply"):
            body = self.applied(name, tree, new)
            if not any(key == "fieldManager" for key, _ in query) and not (self.bold() and self.random.random() < 0.1):
                query = (*query, ("fieldManager", self.random.choice(("m1", "m2"))))
            if self.random.random() < 0.75:
                query = (*query, ("force", self.random.choice(("true", "true", "true", "false"))))
            if kind == "apply-yaml":
                body = yaml.safe_dump(body).encode()
        elif self.bold() and self.random.random() < 0.2 and isinstance(body, dict):
            body = {**body, self.random.choice(("$patch", "unknown")): self.random.choice(("replace", "delete", "x"))}
        headers = (("Content-Type", CONTENT_TYPES[kind]), *self._accept(0.05))
        return self.request(
            "PATCH", self.item(name, subresource), "patch", patch=kind, subresource=subresource,
            query=query, headers=headers, body=body,
        )  # fmt: skip

    def applied(self, name: str, tree: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
        """A configuration to apply: the whole template or a part of it."""
        body: dict[str, Any] = {"apiVersion": self.kind.api_version, "kind": self.kind.kind, "metadata": {"name": name}}
        draw = self.random.random()
        if draw < 0.4:
            part = {key: part for key, part in self.fresh(name).items() if key not in body}
            return {**body, **part}
        if draw < 0.7:
            body["metadata"]["labels"] = {"z": str(self.random.randrange(3)), "ep": "{ep}"}
            return body
        patch = merge_patch(tree, new)
        found: dict[str, Any] = merged(body, patch) if isinstance(patch, dict) else body
        return found

    def _delete(self) -> Request:
        body, query = delete_options(self)
        headers = (_JSON,) if body is not None else ()
        return self.request("DELETE", self.item(self.pick()), "delete", query=query, headers=headers, body=body)

    def _delete_collection(self) -> Request:
        body, query = delete_options(self)
        query = (*query, ("labelSelector", self.random.choice(("ep={ep}", "ep={ep},x=1", "ep=none"))))
        headers = (_JSON,) if body is not None else ()
        return self.request(
            "DELETE", self.kind.collection(), "deletecollection", query=query, headers=headers, body=body
        )

    def _odd(self) -> Request:
        """A request with a method or path that the resource does not have."""
        method = self.random.choice(("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"))
        name = self.pick()
        path = self.random.choice(
            (
                self.item(name),
                self.item(name, "nope"),
                self.item(name, "status"),
                self.item(name, "scale"),
                self.kind.collection(),
                self.kind.collection(None),
                f"{self.kind.collection()}/",
                f"{self.kind.root}/nope",
                f"{self.kind.root}/watch",
                self.kind.root,
            )
        )
        # A collection that is not selected, of several namespaces, would lose objects of others.
        if method == "DELETE" and name not in path:
            method = "PUT"
        if method == "GET" and path == self.kind.collection(None) and not self.kind.namespaced:
            method = "POST"
        body: Any = {} if method in ("POST", "PUT", "PATCH") else None
        headers = (("Content-Type", "application/merge-patch+json" if method == "PATCH" else "application/json"),)
        return self.request(method, path, "odd", headers=headers, body=body)

    def _accept(self, share: float = 0.25) -> tuple[tuple[str, str], ...]:
        if self.random.random() >= share:
            return ()
        return (("Accept", self.random.choice(ACCEPT)),)

    def _varied(self, request: Request) -> Request:
        """The request, sometimes of another user or with a damaged body."""
        if not self.bold():
            return request
        draw = self.random.random()
        if draw < 0.08:
            return _replaced(request, user=self.random.choice(_OTHERS))
        if draw < 0.14 and request.body is not None:
            return _replaced(request, body=broken_body(self.random, request.body))
        if draw < 0.18 and request.headers:
            content_type = self.random.choice(("text/plain", "application/xml", "", "application/json; charset=utf-8"))
            rest = tuple(pair for pair in request.headers if pair[0] != "Content-Type")
            return _replaced(request, headers=(*rest, ("Content-Type", content_type)))
        return request

    def draw(self, schema: dict[str, Any]) -> Any:
        return value(self.random, schema, self.kind)


def _replaced(request: Request, **parts: Any) -> Request:
    return Request(**{**request.__dict__, **parts}) if request.user == ADMIN else request


def _filled(tree: Any) -> Any:
    """A copy of a template with the namespace of the episode."""
    if isinstance(tree, dict):
        return {key: _filled(part) for key, part in tree.items()}
    if isinstance(tree, list):
        return [_filled(part) for part in tree]
    return tree.replace("{ns}", "ns-{ep}") if isinstance(tree, str) else tree
