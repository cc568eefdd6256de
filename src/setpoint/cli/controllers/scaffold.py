"""The files of a new controller: its kind, its loop, an example, and a test that passes. Pure."""

import keyword
import re
import sys
from pathlib import PurePosixPath
from typing import NamedTuple

from setpoint.objects.names import dns1035_label, dns1123_subdomain

_PROGRAM = '''"""The kind {kind}, and the controller that makes of each what its spec says."""

import setpoint as sp
from setpoint.api.core.v1 import ConfigMap


class {kind}Spec(sp.Model):
    """What a {kind} should be."""

    greeting: str = "Hello"


class {kind}Status(sp.Model):
    """What a {kind} is."""

    text: str = ""
    observed_generation: int = 0


class {kind}(sp.Resource, group="{group}", version="v1", columns=[sp.Column("Text", ".status.text")]):
    """A {kind}."""

    spec: {kind}Spec
    status: {kind}Status | None = None

{no_test}
@sp.controller({kind}, owns=[ConfigMap])
async def {function}(ctx: sp.Context, request: sp.Request) -> None:
    found: {kind} | None = await ctx.object()
    if found is None:
        return  # it is gone, and what it owns goes with it
    text = f"{{found.spec.greeting}}, {{request.name}}!"
    page = ConfigMap(metadata=sp.ObjectMeta(name=f"{{request.name}}-page"), data={{"text": text}})
    await ctx.client.apply(ctx.own(page))
    ctx.status["text"] = text
'''
_TEST = '''"""What becomes of a {kind}."""

import pytest
from {module} import {kind}, {kind}Spec, {function}

import setpoint as sp
from setpoint import testing
from setpoint.api.core.v1 import ConfigMap

FIRST = {kind}(metadata=sp.ObjectMeta(name="first", namespace="default"), spec={kind}Spec(greeting="Moin"))


@pytest.mark.world(crds=[{kind}])
async def test_its_page_says_what_its_spec_does(world: testing.World) -> None:
    ran = await world.run_once({function}, FIRST)
    ran.raise_error()
    assert ran.object.status.text == "Moin, first!"
    assert (await world.find(ConfigMap, "first-page")).data == {{"text": "Moin, first!"}}


@pytest.mark.world(crds=[{kind}], objects=[FIRST])
async def test_a_page_that_somebody_deletes_comes_back(world: testing.World) -> None:
    await world.run({function})
    await world.client.delete(ConfigMap, "first-page", "default")
    await world.eventually(lambda: world.find(ConfigMap, "first-page"))
'''
_EXAMPLE = """apiVersion: {group}/v1
kind: {kind}
metadata:
  name: first
  namespace: default
spec:
  greeting: Moin
"""


# Kinds whose classes would be taken for something else, and where.
_TAKEN = {"ConfigMap": "in the file that is written, which makes ConfigMaps"}


class ScaffoldError(ValueError):
    """The names do not do; says why."""


class Names(NamedTuple):
    """What a new controller and its parts are called."""

    kind: str
    group: str
    # Of the file, without `.py`.
    module: str

    @property
    def function(self) -> str:
        return f"reconcile_{re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', self.kind).lower()}"


def names_of(name: str, kind: str, group: str) -> Names:
    """The names that follow from the one that was given, and perhaps from others. Raises ScaffoldError."""
    words = [word for word in re.split(r"[-_\s]+|(?<=[a-z0-9])(?=[A-Z])", name) if word]
    if not words or not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*", name):
        raise ScaffoldError(
            f"{name!r} can name no controller: use letters, digits and dashes, a letter first, such as shop or web-site"
        )
    kind = kind or "".join(word[0].upper() + word[1:] for word in words)
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", kind) or dns1035_label(kind.lower()):
        raise ScaffoldError(f"{kind!r} can name no kind: use words in CamelCase, such as Shop or WebSite")
    if kind in _TAKEN:
        raise ScaffoldError(f"{kind!r} has a meaning of its own {_TAKEN[kind]}: choose another name, or --kind")
    if "." not in group or dns1123_subdomain(group):
        raise ScaffoldError(
            f"{group!r} can be no group: it should be a domain with at least one dot, such as example.com"
        )
    module = "_".join(words).lower()
    if keyword.iskeyword(module) or module in sys.stdlib_module_names or module == "setpoint":
        module = f"{module}_controller"  # the name is Python's own
    return Names(kind, group, module)


def files_of(names: Names, directory: PurePosixPath) -> dict[PurePosixPath, str]:
    """The files, by where they go: the program first, its test, an example."""
    is_like_a_test = names.kind.startswith("Test")
    no_test = f"\n{names.kind}.__test__ = False  # pytest goes by names\n\n" if is_like_a_test else ""
    filled = {**names._asdict(), "function": names.function, "no_test": no_test}
    return {
        directory / f"{names.module}.py": _PROGRAM.format(**filled),
        directory / f"test_{names.module}.py": _TEST.format(**filled),
        PurePosixPath("demo") / f"{names.module}.yaml": _EXAMPLE.format(**filled),
    }
