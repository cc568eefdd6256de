"""What the pages show is true: their Python runs, and their links lead somewhere."""

import ast
import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from tests.docs import pages

from setpoint.objects.errors import APIError
from setpoint.plane import ControlPlane

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")) if path.is_file()
)
PATIENCE = 30.0
_LINK = re.compile(r"\[[^\]]*\]\((?!https?:|#)([^)#\s]+)")


def blocks(page: str) -> list[str]:
    """The Python of a page, but for what is a file of somebody's: those are run by who runs the page's commands."""
    return [block.body for block in pages.blocks(ROOT / page) if block.kind == "python" and not block.file]


def run(*sources: str) -> dict[str, Any]:
    """Runs blocks one after the other, as one who reads the page would; each may await at its top level. Returns
    their names."""
    names: dict[str, Any] = {"__name__": "page"}
    for number, source in enumerate(sources, 1):
        code = compile(source, f"block {number}", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        found = eval(code, names)
        if found is not None:
            asyncio.run(asyncio.wait_for(found, PATIENCE))
    return names


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)])
def test_the_python_of_every_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))  # nothing of the reader's own is touched
    run(*blocks(page))


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_file(page: str) -> None:
    place = (ROOT / page).parent
    links = _LINK.findall((ROOT / page).read_text())
    assert [link for link in links if not place.joinpath(link).exists()] == []


def test_the_function_on_the_page_about_access_guards_pods() -> None:
    names = run(blocks("docs/access.md")[0])

    async def main() -> None:
        rules = [names["rule"](["pods"], operations=["CREATE"])]
        guard = names["ValidatingFunction"]("no-latest", names["no_latest"], rules)
        async with ControlPlane(admission=[guard]) as plane, plane.client() as client:
            with pytest.raises(APIError, match="name a version of the image"):
                await client.create(pod("web:latest"))
            await client.create(pod("web:1.2"))

    asyncio.run(main())


def pod(image: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": image}]},
    }


def test_the_page_about_generating_handlers_counts_the_lines_of_its_example() -> None:
    source = (ROOT / "examples/generating_operator.py").read_text()
    begin, end = source.index("# The controller begins."), source.index("# The controller ends.")
    code = re.sub(r'"""[^"]*"""', "", source[begin:end])
    lines = [line for line in code.splitlines() if line.strip() and not line.strip().startswith("#")]
    page = (ROOT / "docs/generating-handlers.md").read_text()
    assert f"| Setpoint: the lines between the two marks in the example | {len(lines)} |" in page
