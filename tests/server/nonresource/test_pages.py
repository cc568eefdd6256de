"""The version, and the list of paths."""

import re

from tests.server.nonresource.asking import asking


async def test_the_version_is_that_of_the_kubernetes_it_behaves_like() -> None:
    async with asking() as server:
        found = await server.get("/version")
        assert re.fullmatch(r"v1\.37\.\d+\+setpoint\.\d+\.\d+\.\d+", found["gitVersion"])
        assert (found["major"], found["minor"]) == ("1", "37")
        assert (found["emulationMinor"], found["minCompatibilityMinor"]) == ("37", "36")
        assert re.fullmatch(r"\w+/\w+", found["platform"])
        assert (await server.ask("/version/")).status == 200
        assert (await server.ask("/version", method="POST")).status == 405


async def test_every_path_in_the_list_answers() -> None:
    async with asking() as server:
        await server.define()
        paths = (await server.get("/"))["paths"]
        assert paths == sorted(paths)
        assert {"/api", "/apis/ex.com", "/apis/ex.com/v1", "/livez/ping", "/metrics", "/openapi/v2"} <= set(paths)
        for path in paths:
            assert (await server.ask(path)).status == 200, path


async def test_nothing_else_is_there() -> None:
    async with asking() as server:
        assert await server.text("/bogus") == (404, "404 page not found\n")
        assert (await server.ask("/", method="POST")).status == 405
