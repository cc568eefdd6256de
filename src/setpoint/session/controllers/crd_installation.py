"""The kinds that a program defines, on the server: made, brought up to date, and left alone where that would break
objects that are stored.

A definition that comes from the app's own `crds:` is that file's business, and not changed here.
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

# How many objects are named that stand in the way.
_NAMED = 3


class DefinitionError(Exception):
    """The kinds cannot be installed as the program has them; says why, and what to do."""


class NotInstalledError(Exception):
    """The server does not know a kind, which nobody asked us to install."""


async def install(client: Client, kinds: Sequence[type[Resource]]) -> list[str]:
    """Has the server know the kinds. Returns what somebody should know. Raises DefinitionError."""
    notes: list[str] = []
    for definition in _definitions(kinds):
        name = meta.name(definition)
        old = await _installed(client, name)
        if old is not None and APP_LABEL in meta.labels(old):
            continue
        if old is not None:
            notes += await _check_stored(client, definition, old)
        try:
            await client.install(definition)
        except (APIError, RuntimeError, TimeoutError) as error:
            raise DefinitionError(f"{name} cannot be installed: {error}") from None
    return notes


async def check_installed(client: Client, kinds: Sequence[type[Resource]]) -> None:
    """Raises NotInstalledError where the server does not know all of them."""
    for kind in kinds:
        try:
            await client.resource(kind)
        except NoMatch:
            gvk = kind.gvk()
            raise NotInstalledError(
                f"the server has no kind {gvk.kind} in {gvk.api_version}: --install has it installed"
            ) from None


def _definitions(kinds: Sequence[type[Resource]]) -> list[Object]:
    """One definition for each kind, with all its versions."""
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
    """Refuses a schema that objects do not fit; tells of fields that they would lose."""
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
            f"{name} stays as it is, for objects that are stored do not fit the new schema: "
            f"{'; '.join(wrong[:_NAMED])}{more}. Change or delete them, or allow what they have"
        )
    return [
        f"{name}: {path} is not in the schema any more; {count} {'objects have' if count > 1 else 'object has'} it, "
        "and will lose it with the next write"
        for path, count in sorted(lost.items())
    ]
