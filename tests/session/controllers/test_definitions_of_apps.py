"""The kinds that a program defines are installed, and never so that stored objects would break."""

from pathlib import Path

import pytest
from tests.session.controllers.hosting_app import GREETING, HostedApp, greeting, hosted_app, program

from setpoint.client.patches import merge

FILE = "controllers/greet.py"
HELLO = program('ctx.status["text"] = "hello"')
CRD = "apiextensions.k8s.io/v1/CustomResourceDefinition"


async def fields(app: HostedApp) -> dict[str, str]:
    """The types of the fields of a spec, by the schema on the server."""
    crd = await app.client.get(CRD, "greetings.example.com")
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return {name: field["type"] for name, field in schema["properties"]["spec"]["properties"].items()}


@pytest.mark.slow
async def test_a_schema_that_stored_objects_do_not_fit_is_refused(tmp_path: Path) -> None:
    async with hosted_app(tmp_path, {FILE: HELLO}) as app:
        await app.run(FILE)
        for name in ("one", "two", "three", "four"):
            await app.client.create(greeting(name, to="world"))
        app.write({FILE: HELLO.replace("to: str", "to: int")})
        row = await app.note("greeting", "greetings.example.com")
        assert row["note"].startswith(
            "the previous version is still running: greetings.example.com was not changed, because stored objects do "
            'not match the new schema: default/four: spec.to: Invalid value: "string": spec.to in body must be of type '
            'integer: "string"; default/one: '
        )
        assert row["note"].endswith(", and 1 more. Change or delete these objects, or relax the schema")
        assert await fields(app) == {"to": "string"}
        for name in ("one", "two", "three", "four"):
            await app.client.delete(GREETING, name, "default")
        app.write({FILE: HELLO.replace("to: str", "to: int = 3")})
        await app.until(lambda: _has_integers(app))
        await app.client.create(greeting("five"))
        await app.said("five")


@pytest.mark.slow
async def test_a_field_that_objects_would_lose_is_told(tmp_path: Path) -> None:
    async with hosted_app(tmp_path, {FILE: HELLO.replace("to: str", 'to: str = ""\n    by: str = ""')}) as app:
        await app.run(FILE)
        await app.client.create(greeting("one", to="world", by="me"))
        app.write({FILE: HELLO})
        told = await app.until(lambda: app.events("ControllersNote"))
        assert told == [
            "Warning: greetings.example.com: spec.by was removed from the schema; 1 object has the field and will lose "
            "its value on the next write"
        ]


async def test_a_definition_of_the_app_file_is_left_to_it(tmp_path: Path) -> None:
    async with hosted_app(tmp_path, {FILE: HELLO}) as app:
        await app.run(FILE)
        mark = {"metadata": {"labels": {"setpoint.dev/app": "shop"}}}
        await app.client.patch(CRD, merge(mark), "greetings.example.com")
        app.write({FILE: HELLO.replace("to: str", "to: str\n    more: str = ''")})
        await app.logged("greeting", f"[setpoint] {FILE} reloaded")
        assert await fields(app) == {"to": "string"}


async def _has_integers(app: HostedApp) -> bool:
    return await fields(app) == {"to": "integer"}
