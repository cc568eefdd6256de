"""Replays recorded scenarios as far as field ownership decides their answers, without a server.

What the server adds to a write (defaults, generated values) is taken from its recorded answer: an update is judged by
going from the object before to the recorded object after, and its `managedFields` must come out the same. An apply is
judged by its own result: everything in it must be in the recorded object, and the `managedFields` must be the same. A
refusal of an apply must have the recorded Status.
"""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from setpoint.merge import fieldset, jsonpatch, managedfields, mergepatch
from setpoint.merge.fieldmanager import FieldManager, restore_times
from setpoint.merge.fieldset import FieldSet, from_paths
from setpoint.merge.scale_ownership import SCALE_VERSION, ScaleEntries, replicas_path
from setpoint.merge.typed.node import Type
from setpoint.merge.types import Types
from setpoint.objects.clock import ManualClock
from setpoint.objects.errors import APIError
from setpoint.objects.gvk import GroupVersion, GroupVersionKind
from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Json, Object, copy
from setpoint.schema import builtin

SCENARIOS = Path(__file__).parents[1] / "golden" / "scenarios"
APPLY_TYPES = ("application/apply-patch+yaml", "application/apply-patch+json")
USER_AGENT = "golden/1.0"

_TYPES = Types(builtin.definition)
_PATH = re.compile(
    r"/api(?:s/(?P<group>[^/]+))?/(?P<version>[^/]+)(?:/namespaces/(?P<namespace>[^/]+))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<subresource>[^/]+))?"
)
# Refusals that field management is to answer for; others come before or after it.
OURS = re.compile(
    r"Apply failed with|failed to create typed patch object|invalid object type|managedFields must be nil"
)

QUANTITY = re.compile(r"[0-9.]+[a-zA-Z]*")

# What the server sets itself, or turns into something else.
OF_THE_SERVER = {
    ".metadata.creationTimestamp",
    ".metadata.generation",
    ".metadata.managedFields",
    ".metadata.resourceVersion",
    ".metadata.uid",
    ".stringData",
}

IDENTITY = from_paths(
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    *(("f:metadata", f"f:{name}") for name in ("name", "namespace", "uid", "creationTimestamp")),
)

# What a status write of a built-in kind cannot change besides its spec.
_STATUS_RESETS: dict[str, list[tuple[str, ...]]] = {
    "Deployment": [("f:metadata", "f:labels")],
    "Pod": [("f:metadata", "f:deletionTimestamp"), ("f:metadata", "f:ownerReferences")],
}


class Target(NamedTuple):
    """What a request is about."""

    api_version: str
    namespace: str
    plural: str
    name: str
    subresource: str


class Replay:
    """The state of one scenario while it is replayed: the objects as recorded, with our own `managedFields`."""

    def __init__(self) -> None:
        self.clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
        self.objects: dict[tuple[str, str, str, str], Object] = {}
        self.crds: dict[tuple[str, str], Object] = {}
        # Objects of built-in kinds that were set up without a recorded answer: their defaults are not known.
        self.approximate: set[tuple[str, str, str, str]] = set()
        self.compared = 0

    def run(self, steps: list[Object]) -> None:
        for number, step in enumerate(steps):
            if "method" in step and "expect" in step:
                self.clock.advance(1)
                try:
                    self._step(_filled(step))
                except AssertionError as error:
                    error.add_note(f"in step {number}: {step['method']} {step['path']}")
                    raise

    def _step(self, step: Object) -> None:
        target = _target(step["path"])
        if target is None:
            return
        if "rawBody" in step:
            step["body"] = _parsed(step["rawBody"])
        if any("managedFields" in path for path in step.get("ignore", ())):
            step["expect"].pop("body", None)
        method, status = step["method"], step["expect"]["status"]
        answer = step["expect"].get("body")
        if target.plural == "customresourcedefinitions" and method != "DELETE" and status in (200, 201):
            self._define(answer if isinstance(answer, dict) and "spec" in answer else self._patched_crd(target, step))
        if method == "DELETE" and target.name:
            self._delete(target, answer)
        if method == "GET" and target.name and not target.subresource and status == 200:
            self._look(target, answer)
        if method not in ("POST", "PUT", "PATCH") or step.get("query", {}).get("dryRun"):
            return
        if target.subresource == "scale":
            self._scale(target, step, answer)
        elif method == "PATCH" and step.get("headers", {}).get("Content-Type") in APPLY_TYPES:
            self._apply(target, step, answer)
        elif status in (200, 201):
            self._write(target, step, answer)

    def _define(self, crd: Json) -> None:
        if isinstance(crd, dict) and "group" in crd.get("spec", {}):
            self.crds[crd["spec"]["group"], crd["spec"]["names"]["plural"]] = crd["spec"]

    def _patched_crd(self, target: Target, step: Object) -> Json:
        """The CRD after a write whose answer is not recorded."""
        body = step.get("body")
        plural, _, group = target.name.partition(".")
        if not isinstance(body, list):
            return body
        return jsonpatch.apply({"spec": self.crds[group, plural]}, jsonpatch.decode(body))

    def _key(self, target: Target, name: str = "") -> tuple[str, str, str, str]:
        return GroupVersion.parse(target.api_version).group, target.namespace, target.plural, name or target.name

    def _delete(self, target: Target, answer: Json) -> None:
        if isinstance(answer, dict) and answer.get("metadata", {}).get("deletionTimestamp"):
            live = self.objects.get(self._key(target))
            if live is not None:
                self.objects[self._key(target)] = _stored(answer, live)
            return
        self.objects.pop(self._key(target), None)

    def _look(self, target: Target, answer: Json) -> None:
        """A read shows what was stored in between (by controllers, or through a subresource), and who owns it."""
        live = self.objects.get(self._key(target))
        if live is None or not isinstance(answer, dict) or "metadata" not in answer:
            return
        if answer.get("apiVersion") == live.get("apiVersion") and "managedFields" in answer["metadata"]:
            self.objects[self._key(target)] = self._settled(self._key(target), live, answer)

    def _settled(self, key: tuple[str, str, str, str], ours: Object, answer: Object) -> Object:
        """The object after a step, once its entries are found to be the recorded ones."""
        if key in self.approximate:
            self.approximate.discard(key)
            return copy(answer) if "managedFields" in answer["metadata"] else _stored(answer, ours)
        self._compare(ours, answer)
        return _stored(answer, ours)

    def _manager(self, target: Target, kind: str) -> FieldManager:
        types = self._types(target, kind)
        return FieldManager(
            api_version=target.api_version,
            kind=kind,
            types=types,
            clock=self.clock,
            reset_fields={version: self._reset(target, kind) for version in types},
            subresource=target.subresource,
            is_custom=(GroupVersion.parse(target.api_version).group, target.plural) in self.crds,
        )

    def _types(self, target: Target, kind: str) -> dict[str, Type]:
        group = GroupVersion.parse(target.api_version).group
        spec = self.crds.get((group, target.plural))
        if spec is not None:
            found = {}
            for version in spec["versions"]:
                schema = version.get("schema", {}).get("openAPIV3Schema")
                found[f"{group}/{version['name']}"] = _TYPES.custom_resource(schema)
            return found
        version = GroupVersion.parse(target.api_version).version
        name = builtin.kinds()[GroupVersionKind(group, version, kind)]
        return {target.api_version: _TYPES.definition(name)}

    def _reset(self, target: Target, kind: str) -> FieldSet:
        spec = self.crds.get((GroupVersion.parse(target.api_version).group, target.plural))
        if spec is not None:
            version = next(item for item in spec["versions"] if target.api_version.endswith(f"/{item['name']}"))
            if target.subresource == "status":
                return from_paths(("f:metadata",), ("f:spec",))
            return from_paths(("f:status",)) if "status" in (version.get("subresources") or {}) else {}
        if target.subresource == "status":
            return from_paths(("f:spec",), *_STATUS_RESETS.get(kind, []))
        return from_paths(("f:status",))

    def _apply(self, target: Target, step: Object, answer: Json) -> None:
        config, query, status = step["body"], step.get("query", {}), step["expect"]["status"]
        if not query.get("fieldManager") or not isinstance(config, dict) or not isinstance(answer, dict):
            return
        refused = answer if answer.get("kind") == "Status" else None
        if refused is not None and not OURS.match(refused["message"]):
            return
        kind = self._kind(target, config if refused is not None else answer)
        if kind is None:
            return
        live = self.objects.get(self._key(target))
        manager = self._manager(target, kind)
        force = str(query.get("force", "false")).lower() in ("true", "1")
        before = copy(live), copy(config)
        new = _outcome(manager, live, config, query["fieldManager"], force)
        assert (live, config) == before, "apply changed what it was given"
        if refused is not None or isinstance(new, APIError):
            self._compare_refusal(new, answer)
            return
        assert status in (200, 201)
        if live is not None:
            new = restore_times(live, new)
        reset = [element[2:] for element in self._reset(target, kind)]
        _assert_contains(answer, {name: value for name, value in new.items() if name not in reset}, "")
        self.objects[self._key(target)] = self._settled(self._key(target), new, answer)

    def _write(self, target: Target, step: Object, answer: Json) -> None:
        sent = step["body"] if isinstance(step.get("body"), dict) else {}
        if target.subresource not in ("", "status"):
            return
        # Set-up steps record no body: there the object is what was sent.
        after = answer if isinstance(answer, dict) and "kind" in answer else sent
        if "kind" not in after or not isinstance(after.get("metadata"), dict):
            return
        kind = after["kind"]
        name = target.name or after["metadata"].get("name", "")
        if (kind.endswith("List") and "items" in after) or (target.api_version, kind) in _VIRTUAL:
            return
        key = self._key(target, name)
        live = self.objects.get(key)
        if after.get("apiVersion") != target.api_version:
            return
        new = _unowned(after)
        if live is None and after is answer and "managedFields" in after["metadata"]:
            new = _as_written(self._types(target, kind)[target.api_version], after)
        entries = _sent_entries(step, live)
        if entries is not None:
            new = {**new, "metadata": {**new["metadata"], "managedFields": entries}}
        manager = managedfields.manager_name(step.get("query", {}).get("fieldManager", ""), USER_AGENT)
        new = self._manager(target, kind).update(live, new, manager)
        if live is not None:
            new = restore_times(live, new)
        if after is answer:
            self.objects[key] = self._settled(key, new, answer)
        else:
            self.objects[key] = _stored(new, new)
            if (key[0], key[2]) not in self.crds:
                self.approximate.add(key)

    def _scale(self, target: Target, step: Object, answer: Json) -> None:
        live = self.objects.get(self._key(target))
        if live is None or not isinstance(answer, dict) or step["expect"]["status"] not in (200, 201, 409):
            return
        version = live["apiVersion"]
        entries = ScaleEntries(live["metadata"].get("managedFields"), version, self._replicas_paths(target))
        shown = {
            "apiVersion": SCALE_VERSION,
            "kind": "Scale",
            "metadata": {"name": target.name, "managedFields": entries.to_scale()},
            "spec": {"replicas": live["spec"].get("replicas", 1)},
        }
        scale = _TYPES.definition(builtin.kinds()[GroupVersionKind("autoscaling", "v1", "Scale")])
        fields = FieldManager(
            api_version=SCALE_VERSION,
            kind="Scale",
            types={SCALE_VERSION: scale},
            clock=self.clock,
            reset_fields={SCALE_VERSION: from_paths(("f:status",))},
            subresource="scale",
        )
        manager = managedfields.manager_name(step.get("query", {}).get("fieldManager", ""), USER_AGENT)
        if step.get("headers", {}).get("Content-Type") in APPLY_TYPES:
            outcome = _outcome(fields, shown, step["body"], manager, bool(step["query"].get("force")))
            if isinstance(outcome, APIError) or step["expect"]["status"] == 409:
                self._compare_refusal(outcome, answer)
                return
            new = outcome
        elif "spec" in answer:
            new = fields.update(shown, _unowned(answer), manager)
        else:
            return
        owned = entries.to_parent(new["metadata"].get("managedFields"))
        spec = {**live["spec"], "replicas": answer["spec"]["replicas"]}
        self.objects[self._key(target)] = {
            **live,
            "spec": spec,
            "metadata": {**live["metadata"], "managedFields": owned},
        }

    def _replicas_paths(self, target: Target) -> dict[str, Any]:
        group = GroupVersion.parse(target.api_version).group
        spec = self.crds.get((group, target.plural))
        if spec is None:
            return {target.api_version: replicas_path(".spec.replicas")}
        found: dict[str, Any] = {}
        for version in spec["versions"]:
            scale = (version.get("subresources") or {}).get("scale")
            found[f"{group}/{version['name']}"] = replicas_path(scale["specReplicasPath"]) if scale else None
        return found

    def _kind(self, target: Target, tree: Object) -> str | None:
        group, version = GroupVersion.parse(target.api_version).group, GroupVersion.parse(target.api_version).version
        spec = self.crds.get((group, target.plural))
        if spec is not None:
            kind: str = spec["names"]["kind"]
            return kind
        for gvk in builtin.kinds():
            if (gvk.group, gvk.version) == (group, version) and target.plural in _plurals(gvk.kind):
                return gvk.kind
        return None

    def _compare_refusal(self, ours: Object | APIError, recorded: Object) -> None:
        assert isinstance(ours, APIError), f"not refused: {recorded['message']}"
        assert _comparable(ours.to_status()) == _comparable(recorded)
        self.compared += 1

    def _compare(self, ours: Object, recorded: Object) -> None:
        assert _entries(ours) == _entries(recorded)
        self.compared += 1


_VIRTUAL = {("v1", "Binding"), ("policy/v1", "Eviction"), ("autoscaling/v1", "Scale")}


def _outcome(fields: FieldManager, live: Object | None, config: Object, manager: str, force: bool) -> Object | APIError:
    try:
        return fields.apply(live, config, manager, force=force)
    except APIError as error:
        return error


def _plurals(kind: str) -> set[str]:
    name = kind.lower()
    return {f"{name}s", f"{name}es", f"{name[:-1]}ies", name}


def _target(path: str) -> Target | None:
    found = _PATH.fullmatch(path)
    if found is None:
        return None
    group, version = found["group"] or "", found["version"]
    api_version = f"{group}/{version}" if group else version
    return Target(
        api_version, found["namespace"] or "", found["plural"], found["name"] or "", found["subresource"] or ""
    )


def _parsed(text: str) -> Json:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return None


def _filled(step: Object) -> Object:
    """The step with the namespace as the answers show it."""
    filled: Object = json.loads(json.dumps(step).replace("{ns}", "ns-{x}"))
    return filled


def _unowned(tree: Object) -> Object:
    metadata = {name: value for name, value in tree["metadata"].items() if name != "managedFields"}
    return {**tree, "metadata": metadata}


def _as_written(root: Type, created: Object) -> Object:
    """A new object without what the server added after the write was attributed: what nobody owns."""
    owned: FieldSet = {}
    for entry in created["metadata"]["managedFields"]:
        owned = fieldset.union(owned, fieldset.parse(entry["fieldsV1"]))
    written = _unowned(created)
    there = root.named(root.field_set(written, False) or {})
    added_later = fieldset.difference(there, root.named(owned))
    result: Object = root.remove(written, fieldset.difference(added_later, IDENTITY))
    return result


def _sent_entries(step: Object, live: Object | None) -> Json:
    """The `managedFields` that a write sends: what its patch makes of the live ones, or what its body has."""
    body = step.get("body")
    media_type = step.get("headers", {}).get("Content-Type")
    if live is not None and media_type == "application/json-patch+json":
        body = jsonpatch.apply(live, jsonpatch.decode(body))
    elif live is not None and step["method"] == "PATCH":
        body = mergepatch.apply({"metadata": live["metadata"]}, {"metadata": (body or {}).get("metadata", {})})
    return body["metadata"].get("managedFields") if isinstance(body, dict) and "metadata" in body else None


def _stored(answer: Object, ours: Object) -> Object:
    """The object as the server stored it, with the entries we came to."""
    found = copy(_unowned(answer))
    if "managedFields" in ours["metadata"]:
        found["metadata"]["managedFields"] = ours["metadata"]["managedFields"]
    stored: Object = found
    return stored


def _entries(tree: Object) -> list[Object]:
    """The entries in the order recordings have, with only whether they have a time."""
    entries = [
        {**entry, "time": "<time>"} if "time" in entry else entry for entry in tree["metadata"].get("managedFields", [])
    ]
    # Recordings have placeholders in brackets, which are escaped inside path elements.
    entries = json.loads(json.dumps(entries).replace("\\\\u003c", "<").replace("\\\\u003e", ">"))
    names = ("operation", "manager", "subresource", "apiVersion")
    return sorted(entries, key=lambda entry: [entry.get(name, "") for name in names])


def _comparable(status: Object) -> Object:
    """A Status with its causes in the order recordings have. For what does not fit its type the real server blames
    itself; we blame the configuration."""
    if status["message"].startswith("failed to create typed"):
        return {"message": status["message"], "code": 422 if status["code"] == 500 else status["code"]}
    causes = status.get("details", {}).get("causes")
    if causes is None:
        return status
    ordered = sorted(causes, key=lambda cause: (cause.get("field", ""), cause.get("message", "")))
    return {**status, "details": {**status["details"], "causes": ordered}}


def _assert_contains(recorded: Json, ours: Json, path: str) -> None:
    """Everything we came to is in the recorded object, lists item by item; it may have more (defaults)."""
    if isinstance(ours, dict):
        assert isinstance(recorded, dict), path
        for name, value in ours.items():
            if f"{path}.{name}" in OF_THE_SERVER or (name not in recorded and value in (None, {}, [])):
                continue
            if value is None and not recorded[name]:
                # In a built-in kind, null for a plain value is its zero.
                continue
            assert name in recorded, f"{path}.{name}"
            _assert_contains(recorded[name], value, f"{path}.{name}")
    elif isinstance(ours, list):
        assert isinstance(recorded, list), path
        assert len(recorded) == len(ours), path
        for index, (theirs, item) in enumerate(zip(recorded, ours, strict=True)):
            _assert_contains(theirs, item, f"{path}[{index}]")
    elif recorded != ours:
        # A quantity is stored in its shortest form.
        quantities = [QUANTITY.fullmatch(str(value)) for value in (recorded, ours)]
        assert all(quantities), f"{path}: {recorded!r} is not {ours!r}"
        assert Quantity.parse(str(recorded)) == Quantity.parse(str(ours)), path
