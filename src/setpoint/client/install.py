"""Installs the CustomResourceDefinitions of kinds, and waits until the server serves them.

    await client.install(Website, Certificate)

The installation keeps settings that the classes do not define: other versions (objects may be stored in them), a
conversion webhook, and labels and annotations of other managers. An unchanged definition is not written.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from setpoint.client.edits import Editing
from setpoint.client.mapper import NoMatch
from setpoint.objects.clock import timeout as within
from setpoint.objects.errors import AlreadyExists, NotFound
from setpoint.objects.frozen import thaw
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object

if TYPE_CHECKING:
    from setpoint.schema.types.resource import Resource

DEFINITION = "apiextensions.k8s.io/v1/CustomResourceDefinition"

_FIRST_SECONDS, _MOST_SECONDS = 0.05, 1.0


class InstallError(RuntimeError):
    """The server does not serve the definition, because its names conflict with another definition."""


class Installing(Editing):
    """Installs the definitions of kinds."""

    async def install(
        self, *kinds: "type[Resource] | Object", wait: bool = True, timeout: float | None = 30.0
    ) -> list[Object]:
        """Creates or updates the definitions of kinds, and waits until the server serves them. `kinds` are classes
        (several classes of one kind are its versions) or definitions as trees. Returns the definitions as stored by the
        server.

        Raises ModelError for classes that do not make a valid definition, InstallError if the names are taken, and
        TimeoutError.
        """
        wanted = _definitions(kinds)
        if timeout is None:
            return await self._install(wanted, wait)
        try:
            async with within(self.clock, timeout):
                return await self._install(wanted, wait)
        except TimeoutError:
            names = ", ".join(definition["metadata"]["name"] for definition in wanted)
            raise TimeoutError(f"the server did not serve {names} within {timeout:g} s") from None

    async def _install(self, wanted: list[Object], wait: bool) -> list[Object]:
        found = [await self._put(definition) for definition in wanted]
        return [await self._established(definition) for definition in found] if wait else found

    async def _put(self, definition: Object) -> Object:
        """Creates or updates the definition."""
        name = definition["metadata"]["name"]
        while True:
            try:
                return await self.edit(DEFINITION, name, "", lambda old: _updated(old, definition))
            except NotFound:
                pass
            except _TerminatingError:
                # The definition is deleted with the last of its objects; then a new one can be created.
                await self.wait_for(DEFINITION, name, until="delete", timeout=None)
            try:
                return await self.create(thaw(definition))
            except AlreadyExists:
                continue  # another client has created the definition: update that one

    async def _established(self, definition: Object) -> Object:
        """Waits until the server serves every version of the definition."""
        name = definition["metadata"]["name"]
        found = cast(Object, await self.wait_for(DEFINITION, name, until=_is_established, timeout=None))
        spec = found["spec"]
        for version in spec["versions"]:
            if version["served"]:
                await self._discovered(GroupVersionKind(spec["group"], version["name"], spec["names"]["kind"]))
        return found

    async def _discovered(self, kind: GroupVersionKind) -> None:
        pause = _FIRST_SECONDS
        while True:
            try:
                await self.mapper.resource(kind)
                return
            except NoMatch:
                await self.clock.sleep(pause)
                pause = min(pause * 2, _MOST_SECONDS)


class _TerminatingError(Exception):
    """The existing definition is being deleted."""


def _definitions(kinds: "Sequence[type[Resource] | Object]") -> list[Object]:
    """Returns the definitions of the classes, then the given definitions, each in the order of the arguments."""
    # Imported here, because the module imports all of schema validation, which most clients do not need.
    from setpoint.schema.types.crd import crd_of

    classes: dict[tuple[str, str], list[type[Resource]]] = {}
    definitions: list[Object] = []
    for kind in kinds:
        if isinstance(kind, dict):
            definitions.append(kind)
        else:
            gvk = kind.gvk()
            classes.setdefault((gvk.group, gvk.kind), []).append(kind)
    return [*(crd_of(*dict.fromkeys(versions)) for versions in classes.values()), *definitions]


def _updated(old: Object, wanted: Object) -> Object:
    """Returns the existing definition with the wanted spec, labels and annotations."""
    metadata: Object = old["metadata"]
    if metadata.get("deletionTimestamp"):
        raise _TerminatingError
    spec = thaw(wanted["spec"])
    named = {version["name"] for version in spec["versions"]}
    kept = [version for version in old["spec"]["versions"] if version["name"] not in named]
    spec["versions"] += [{**version, "storage": False} for version in kept]
    _keep_conversion(spec, old["spec"])
    metadata = {**metadata}
    for key in ("labels", "annotations"):
        if ours := wanted["metadata"].get(key):
            metadata[key] = {**metadata.get(key, {}), **ours}
    return {**old, "metadata": metadata, "spec": spec}


def _keep_conversion(spec: Object, old: Object) -> None:
    """Keeps the existing conversion webhook if the classes define none, and its caBundle if they do not set one."""
    ours, theirs = spec.get("conversion", {}), old.get("conversion", {})
    if ours.get("strategy", "None") == "None":
        if theirs:
            spec["conversion"] = theirs
        return
    config = ours["webhook"]["clientConfig"]
    bundle = theirs.get("webhook", {}).get("clientConfig", {}).get("caBundle")
    if bundle and "caBundle" not in config:
        config["caBundle"] = bundle


def _is_established(definition: Any) -> bool:
    if definition is None:
        return False
    conditions = {each["type"]: each for each in definition.get("status", {}).get("conditions") or ()}
    refused = conditions.get("NamesAccepted", {})
    if refused.get("status") == "False":
        name = definition["metadata"]["name"]
        raise InstallError(f"{name} is not served, its names are taken: {refused.get('message', '')}")
    return bool(conditions.get("Established", {}).get("status") == "True")
