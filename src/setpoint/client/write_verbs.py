"""The write verbs: create, update, patch, apply and delete, for objects and their subresources."""

from typing import Any, Unpack, cast

from setpoint.client.kinds import AnyObject, Kind, KindRef, Obj, kind_of, ref_of, tree_of
from setpoint.client.options import Options, WriteOptions
from setpoint.client.patches import APPLY, Patch
from setpoint.client.requests import (
    Query,
    Requests,
    accept_of,
    decode,
    encode,
    metadata_of,
    place_of,
    query_of,
    target_of,
)
from setpoint.client.selectors import FieldsArgument, LabelsArgument, fields_text, labels_text
from setpoint.objects.tree import Object

STATUS = "status"
# Metadata fields that only the server sets; those of an object that was read.
_SYSTEM_FIELDS = frozenset(("managedFields", "resourceVersion", "creationTimestamp", "generation", "uid", "selfLink"))
_READ = ("managedFields", "creationTimestamp")


class Writing(Requests):
    """The write verbs of a client."""

    async def create(
        self, obj: Obj, *, namespace: str = "", name: str = "", subresource: str = "", **how: Unpack[WriteOptions]
    ) -> Obj:
        """Creates an object, and returns the object as stored by the server. With a subresource, `name` is the name of
        the parent object."""
        ref, tree = ref_of(obj), tree_of(obj)
        namespace = namespace or metadata_of(tree).get("namespace", "")
        return cast(Obj, await self._write(ref, "POST", tree, name, namespace, subresource, how))

    async def update(self, obj: Obj, *, subresource: str = "", **how: Unpack[WriteOptions]) -> Obj:
        """Replaces an object. If the object has a resourceVersion, raises Conflict unless the server still has that
        version."""
        ref, tree = ref_of(obj), tree_of(obj)
        name, namespace = place_of(tree)
        return cast(Obj, await self._write(ref, "PUT", tree, name, namespace, subresource, how))

    async def _write(
        self, ref: KindRef, method: str, tree: Object, name: str, namespace: str, subresource: str, how: WriteOptions
    ) -> Any:
        answer = await self._call(
            ref,
            method,
            name=name,
            namespace=namespace,
            subresource=subresource,
            query=_query(self.options, how),
            body=encode(tree),
        )
        return ref.decode(answer.body)

    async def patch(
        self,
        target: Any,
        patch: Patch,
        name: str = "",
        namespace: str = "",
        *,
        subresource: str = "",
        force: bool = False,
        **how: Unpack[WriteOptions],
    ) -> Any:
        """Patches an object, given as the object or by its kind and name. Sends empty patches too."""
        ref, name, namespace = target_of(target, name, namespace)
        return await self._patch(ref, patch, name, namespace, subresource, force, how)

    async def _patch(
        self, ref: KindRef, patch: Patch, name: str, namespace: str, subresource: str, force: bool, how: WriteOptions
    ) -> Any:
        query = _query(self.options, how)
        if force:
            query.append(("force", "true"))
        answer = await self._call(
            ref,
            "PATCH",
            name=name,
            namespace=namespace,
            subresource=subresource,
            query=query,
            body=patch.body,
            content_type=patch.content_type,
            accept=accept_of(ref),
        )
        return ref.decode(answer.body)

    async def apply(self, obj: Obj, *, force: bool = False, subresource: str = "", **how: Unpack[WriteOptions]) -> Obj:
        """Server-side apply: sets the fields of `obj`, and makes the field manager their owner. Raises ApplyConflict if
        another manager owns a field with a different value, unless `force` is set; Conflict if `obj` has a
        resourceVersion and the server has another; and ValueError for an object that was read from a server."""
        tree = tree_of(obj)
        name, namespace = place_of(tree)
        found = await self._apply(ref_of(obj), configuration(tree), name, namespace, subresource, force, how)
        return cast(Obj, found)

    async def _apply(
        self, ref: KindRef, body: bytes, name: str, namespace: str, subresource: str, force: bool, how: WriteOptions
    ) -> Any:
        if not (how.get("field_manager") or self.options.field_manager):
            raise ValueError(
                'apply needs a field manager: pass field_manager="NAME", '
                'or use client.with_options(field_manager="NAME")'
            )
        return await self._patch(ref, Patch(APPLY, body), name, namespace, subresource, force, how)

    # The status subresource

    async def update_status(self, obj: Obj, **how: Unpack[WriteOptions]) -> Obj:
        """Replaces the status of an object. The server ignores the other fields."""
        return await self.update(obj, subresource=STATUS, **how)

    async def patch_status(
        self, target: Any, patch: Patch, name: str = "", namespace: str = "", **how: Unpack[WriteOptions]
    ) -> Any:
        """Patches the status of an object."""
        return await self.patch(target, patch, name, namespace, subresource=STATUS, **how)

    async def apply_status(self, obj: Obj, *, force: bool = False, **how: Unpack[WriteOptions]) -> Obj:
        """Applies the status of an object, and makes the field manager its owner."""
        return await self.apply(obj, force=force, subresource=STATUS, **how)

    # Deleting

    async def delete(
        self,
        target: AnyObject | Kind[Any],
        name: str = "",
        namespace: str = "",
        *,
        propagation: str = "",
        grace_period: int | None = None,
        uid: str = "",
        resource_version: str = "",
        dry_run: bool | None = None,
    ) -> Object:
        """Deletes an object, given as the object or by its kind and name. Returns the terminating object, or a
        Status."""
        ref, name, namespace = target_of(target, name, namespace)
        body = self._delete_options(propagation, grace_period, uid, resource_version, dry_run)
        answer = await self._call(ref, "DELETE", name=name, namespace=namespace, body=body)
        return cast(Object, decode(answer.body))

    async def delete_all(
        self,
        kind: Kind[Any],
        namespace: str = "",
        *,
        labels: LabelsArgument = None,
        fields: FieldsArgument = None,
        propagation: str = "",
        grace_period: int | None = None,
        dry_run: bool | None = None,
    ) -> None:
        """Deletes all objects of a kind that match the selectors."""
        query = query_of(labelSelector=labels_text(labels), fieldSelector=fields_text(fields))
        body = self._delete_options(propagation, grace_period, "", "", dry_run)
        await self._call(kind_of(kind), "DELETE", namespace=namespace, query=query, body=body)

    def _delete_options(
        self, propagation: str, grace_period: int | None, uid: str, resource_version: str, dry_run: bool | None
    ) -> bytes:
        found: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if propagation:
            found["propagationPolicy"] = propagation
        if grace_period is not None:
            found["gracePeriodSeconds"] = grace_period
        conditions = {"uid": uid, "resourceVersion": resource_version}
        if conditions := {name: value for name, value in conditions.items() if value}:
            found["preconditions"] = conditions
        if self.options.dry_run if dry_run is None else dry_run:
            found["dryRun"] = ["All"]
        return encode(found)


def _query(options: Options, how: WriteOptions) -> Query:
    """Returns the query parameters of a write: its own options, and those of the client for the rest."""
    found = []
    dry_run = how.get("dry_run")
    if options.dry_run if dry_run is None else dry_run:
        found.append(("dryRun", "All"))
    if manager := how.get("field_manager") or options.field_manager:
        found.append(("fieldManager", manager))
    if validation := how.get("field_validation") or options.field_validation:
        found.append(("fieldValidation", validation))
    return found


def configuration(tree: Object) -> bytes:
    """Returns the body of an apply. Raises ValueError for an object that was read from a server, because the field
    manager would become the owner of every field."""
    metadata = tree.get("metadata")
    if isinstance(metadata, dict) and any(metadata.get(name) for name in _READ):
        raise ValueError(
            f"cannot apply {tree.get('kind')} {metadata.get('name')}: the object was read from a server, and apply "
            "would claim all of its fields. Change the object with `edit`, or apply a new one with your own fields"
        )
    return encode(tree)


def without_system_fields(tree: Object) -> Object:
    """Returns an object that was read from a server without the metadata that only the server sets, for an apply that
    shall own every other field."""
    metadata = tree.get("metadata")
    if not isinstance(metadata, dict) or _SYSTEM_FIELDS.isdisjoint(metadata):
        return tree
    return {**tree, "metadata": {name: metadata[name] for name in metadata if name not in _SYSTEM_FIELDS}}
