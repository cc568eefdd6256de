"""The templates of a new controller: its kind, reconcile function, test, and example. Pure functions."""

import keyword
import re
import sys
from pathlib import PurePosixPath
from typing import NamedTuple

from setpoint.objects.names import dns1035_label, dns1123_subdomain

_PROGRAM = '''"""The kind {kind} and its controller."""

import setpoint as sp
from setpoint.api.core.v1 import ConfigMap


class {kind}Spec(sp.Model):
    """The desired state of a {kind}."""

    greeting: str = "Hello"


class {kind}Status(sp.Model):
    """The observed state of a {kind}."""

    text: str = ""
    observed_generation: int = 0


class {kind}(sp.Resource, group="{group}", version="v1", columns=[sp.Column("Text", ".status.text")]):
    """A {kind}."""

    spec: {kind}Spec
    status: {kind}Status | None = None

{no_test}
@sp.controller({kind}, owns=[ConfigMap])
async def {function}(ctx: sp.Context[{kind}], request: sp.Request) -> None:
    found = await ctx.object()
    if found is None:
        return  # deleted; its ConfigMap is deleted by the garbage collector
    text = f"{{found.spec.greeting}}, {{request.name}}!"
    page = ConfigMap(metadata=sp.ObjectMeta(name=f"{{request.name}}-page"), data={{"text": text}})
    await ctx.client.apply(ctx.own(page))
    ctx.status.text = text
'''
_TEST = '''"""Tests of the {kind} controller."""

import pytest
from {module} import {kind}, {kind}Spec, {function}

import setpoint as sp
from setpoint import testing
from setpoint.api.core.v1 import ConfigMap
from setpoint.client.patches import merge

FIRST = {kind}(metadata=sp.ObjectMeta(name="first", namespace="default"), spec={kind}Spec(greeting="Moin"))


@pytest.mark.world(crds=[{kind}])
async def test_the_page_contains_the_greeting(world: testing.World) -> None:
    ran = await world.run_once({function}, FIRST)
    ran.raise_error()
    assert ran.object.status.text == "Moin, first!"
    assert (await world.find(ConfigMap, "first-page")).data == {{"text": "Moin, first!"}}


@pytest.mark.world(crds=[{kind}], objects=[FIRST])
async def test_a_deleted_page_is_recreated(world: testing.World) -> None:
    await world.run({function})
    await world.client.delete(ConfigMap, "first-page", "default")
    await world.eventually(lambda: world.find(ConfigMap, "first-page"))


@pytest.mark.world(crds=[{kind}], objects=[FIRST])
@pytest.mark.parametrize(
    "change",
    [
        {{"data": {{"text": "changed"}}}},
        {{"data": {{"text": None}}}},
        {{"data": {{"text": "changed"}}, "metadata": {{"managedFields": [{{}}]}}}},  # forgets the owners of all fields
    ],
)
async def test_a_page_that_another_client_changes_is_restored(world: testing.World, change: dict[str, object]) -> None:
    await world.run({function})
    await world.client.patch(ConfigMap, merge(change), "first-page", "default", field_manager="other")
    await world.settle()
    assert (await world.find(ConfigMap, "first-page")).data == {{"text": "Moin, first!"}}


@pytest.mark.world(crds=[{kind}], objects=[FIRST])
async def test_a_page_that_another_client_applies_is_restored(world: testing.World) -> None:
    page = ConfigMap(metadata=sp.ObjectMeta(name="first-page", namespace="default"), data={{"text": "applied"}})
    await world.run({function})
    await world.client.apply(page, field_manager="other", force=True)
    await world.settle()
    assert (await world.find(ConfigMap, "first-page")).data == {{"text": "Moin, first!"}}
'''
_EXAMPLE = """apiVersion: {group}/v1
kind: {kind}
metadata:
  name: first
  namespace: default
spec:
  greeting: Moin
"""


# Kinds that conflict with other names in the generated file.
_TAKEN = {"ConfigMap": "with a class that the generated file imports"}


class ScaffoldError(ValueError):
    """Raised for invalid names, with the reason."""


class Names(NamedTuple):
    """The names of a new controller and its files."""

    kind: str
    group: str
    # The name of the file, without `.py`.
    module: str

    @property
    def function(self) -> str:
        return f"reconcile_{re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', self.kind).lower()}"


def names_of(name: str, kind: str, group: str) -> Names:
    """Derives all names from the given ones. Raises ScaffoldError."""
    words = [word for word in re.split(r"[-_\s]+|(?<=[a-z0-9])(?=[A-Z])", name) if word]
    if not words or not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*", name):
        raise ScaffoldError(
            f"invalid controller name {name!r}: use letters, digits and dashes, starting with a letter, e.g. shop "
            "or web-site"
        )
    kind = kind or "".join(word[0].upper() + word[1:] for word in words)
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", kind) or dns1035_label(kind.lower()):
        raise ScaffoldError(f"invalid kind {kind!r}: use CamelCase, e.g. Shop or WebSite")
    if kind in _TAKEN:
        raise ScaffoldError(f"kind {kind!r} conflicts {_TAKEN[kind]}: choose another name or --kind")
    if "." not in group or dns1123_subdomain(group):
        raise ScaffoldError(f"invalid group {group!r}: expected a domain with at least one dot, e.g. example.com")
    module = "_".join(words).lower()
    if keyword.iskeyword(module) or module in sys.stdlib_module_names or module == "setpoint":
        module = f"{module}_controller"  # avoids a name of the standard library
    return Names(kind, group, module)


def files_of(names: Names, directory: PurePosixPath) -> dict[PurePosixPath, str]:
    """Returns the contents of the files by path: the program, its test, and an example."""
    is_like_a_test = names.kind.startswith("Test")
    no_test = f"\n{names.kind}.__test__ = False  # pytest goes by names\n\n" if is_like_a_test else ""
    filled = {**names._asdict(), "function": names.function, "no_test": no_test}
    return {
        directory / f"{names.module}.py": _PROGRAM.format(**filled),
        directory / f"test_{names.module}.py": _TEST.format(**filled),
        PurePosixPath("demo") / f"{names.module}.yaml": _EXAMPLE.format(**filled),
    }
