"""Installs and updates the CustomResourceDefinitions of a program, unless a change would break stored objects.

Definitions from the app's own `crds:` are not changed here.
"""

from collections.abc import Sequence

from setpoint.client.client import Client
from setpoint.client.install import DEFINITION
from setpoint.client.kinds import KindRef
from setpoint.client.mapper import NoMatch
from setpoint.objects import meta
from setpoint.objects.errors import APIError, NotFound
from setpoint.objects.frozen import thaw
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object
from setpoint.schema.types.model import ModelError
from setpoint.schema.types.resource import Resource
from setpoint.workload.kinds.api_names import APP_LABEL

# The number of conflicting objects named in an error.
_NAMED = 3


class DefinitionError(Exception):
    """Raised if the definitions cannot be installed, with the reason and remedy."""


class NotInstalledError(Exception):
    """Raised if the server lacks a kind and installing is disabled."""


async def install(client: Client, kinds: Sequence[type[Resource]]) -> list[str]:
    """Installs the kinds. Returns notes for the user. Raises DefinitionError."""
    notes: list[str] = []
    for definition in definitions_of(kinds):
        name = meta.name(definition)
        old = await _installed(client, name)
        if old is not None and APP_LABEL in meta.labels(old):
            continue
        if old is not None:
            notes += await _check_stored(client, definition, old)
        try:
            await client.install(definition)
        except (APIError, RuntimeError, TimeoutError) as error:
            raise DefinitionError(f"cannot install {name}: {error}") from None
    return notes


async def check_installed(client: Client, kinds: Sequence[type[Resource]]) -> None:
    """Raises NotInstalledError if the server lacks one of the kinds."""
    for kind in kinds:
        try:
            await client.resource(kind)
        except NoMatch:
            gvk = kind.gvk()
            raise NotInstalledError(f"the server has no kind {gvk.kind} in {gvk.api_version}: use --install") from None


def definitions_of(kinds: Sequence[type[Resource]]) -> list[Object]:
    """Returns one definition per kind, with all its versions. Raises DefinitionError."""
    from setpoint.schema.types.crd import crd_of

    versions: dict[tuple[str, str], list[type[Resource]]] = {}
    for each in kinds:
        gvk = each.gvk()
        versions.setdefault((gvk.group, gvk.kind), []).append(each)
    try:
        return [crd_of(*classes) for classes in versions.values()]
    except ModelError as error:
        raise DefinitionError(str(error)) from None


async def _installed(client: Client, name: str) -> Object | None:
    try:
        return await client.get(DEFINITION, name)
    except NotFound:
        return None


async def _check_stored(client: Client, new: Object, old: Object) -> list[str]:
    """Rejects a schema that stored objects do not match. Returns notes about fields that objects would lose."""
    from setpoint.schema.compile import compile_schema
    from setpoint.schema.openapi import Schema
    from setpoint.schema.validation import validate_object

    before = {version["name"]: version for version in old["spec"]["versions"]}
    wrong: list[str] = []
    lost: dict[str, int] = {}
    for version in new["spec"]["versions"]:
        known = before.get(version["name"])
        if known is None or not known["served"] or known.get("schema") == version.get("schema"):
            continue
        compiled = compile_schema(Schema.parse(version["schema"]["openAPIV3Schema"]))
        gvk = GroupVersionKind(new["spec"]["group"], version["name"], new["spec"]["names"]["kind"])
        async for obj in client.each(KindRef(gvk)):
            tree = thaw(obj)
            for path in compiled.normalize(tree):
                lost[path] = lost.get(path, 0) + 1
            wrong += [f"{meta.key(tree)}: {error}" for error in validate_object(compiled, tree).errors[:1]]
    name = meta.name(new)
    if wrong:
        more = f", and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
        raise DefinitionError(
            f"{name} was not changed, because stored objects do not match the new schema: "
            f"{'; '.join(wrong[:_NAMED])}{more}. Change or delete these objects, or relax the schema"
        )
    return [
        f"{name}: {path} was removed from the schema; {count} {'objects have' if count > 1 else 'object has'} the "
        "field and will lose its value on the next write"
        for path, count in sorted(lost.items())
    ]
