"""What the pages tell to type does what they show: every command of them is run, in order, in a fresh directory."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, ROOT, Step, blocks, is_shown, steps
from tests.docs.shell import Shell
from tests.docs.trying import try_blocks
from tests.workload.podman import IMAGE, Service, connected, shared

pytestmark = pytest.mark.slow

PAGES = {page.relative_to(DOCS).with_suffix("").as_posix(): blocks(page) for page in sorted(DOCS.rglob("*.md"))}
PAGES["README"] = blocks(ROOT / "README.md")
# Examples of single commands are about whatever their reader has: test_command_examples looks at those.
PAGES["commands"] = [block for block in PAGES["commands"] if block.kind != "sh"]
TRIED = [name for name, found in PAGES.items() if any(block.kind in ("console", "sh") for block in found)]
CONTAINERS = {"from-compose", "from-skaffold"}
# Nobody marks a block lightly: each is here once more, with its reason.
NOT_RUN = {
    "quick-start": ["needs a package registry"],
    "from-kopf": ["needs a package registry"],
    "other-languages": [
        f"{needs}; tests/docs/test_other_languages.py runs it"
        for needs in ("needs Go", "needs Node.js and its registry", "needs Java and Maven", "needs Rust")
    ],
    "envtest": [
        "needs Go, a Go operator and a published package; tests/clients runs controller-runtime's own suites so",
        "a part of a Go test",
    ],
}


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Service]:
    """A container engine that has the image of the pages: what is in it is the real busybox, from Debian."""
    base = tmp_path_factory.getbasetemp()
    with shared((base if worker_id == "master" else base.parent) / "podman") as service:
        asyncio.run(_name_image(service))
        yield service


async def _name_image(service: Service) -> None:
    async with connected(service) as engine:
        await engine.images.tag(IMAGE, "docker.io/library/busybox:latest")


@pytest.fixture
def shell(tmp_path: Path, page: str, request: pytest.FixtureRequest) -> Iterator[Shell]:
    """Where a page is tried, with an engine if it needs one."""
    environ = {"DOCKER_HOST": request.getfixturevalue("engine").address} if page in CONTAINERS else {}
    with Shell(tmp_path, environ) as shell:
        yield shell


@pytest.mark.parametrize("page", TRIED)
def test_a_page_can_be_tried_from_its_beginning_to_its_end(page: str, shell: Shell) -> None:
    try_blocks(f"{page}.md", PAGES[page], shell)


def test_what_is_not_run_is_little_and_says_why() -> None:
    reasons = {name: [block.not_run for block in found if block.not_run] for name, found in PAGES.items()}
    assert {name: found for name, found in reasons.items() if found} == NOT_RUN


@pytest.mark.parametrize(
    ("printed", "shown", "fits"),
    [
        ("a   b\n", "a b\n", True),
        ("a 12s\n", "a …\n", True),
        ("a 12s b\n", "a … b\n", True),
        ("a\nb\nc\n", "a\n…\n", True),
        ("a\nb\nc\n", "…\nc\n", True),
        ("a\n", "a\n…\n", True),
        ("a\nb\n", "a\n", False),
        ("a\n", "a\nb\n", False),
        ("ab\n", "a b\n", False),
        ("a.c\n", "abc\n", False),
        ("abc\n", "a.c\n", False),
        (
            "218 09:00:01 web is up after 1m2s at http://localhost:41000\n",
            "7 14:05:02 web is up after 3s at http://localhost:32768\n",
            True,
        ),
        ("session shop-1f2e, rv 8, pid 31\n", "session shop-3f2a, rv 1234, pid 4\n", True),
        ("1/2 ready\n", "2/2 ready\n", False),
        ("exit code 3\n", "exit code 1\n", False),
        ("http://localhost:80\n", "http://localhost:81\n", False),
    ],
)
def test_output_is_compared_line_by_line(printed: str, shown: str, fits: bool) -> None:
    assert is_shown(printed, shown) is fits


def test_commands_are_read_with_their_continuation_and_output(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ cat > a <<END\n> one\n> END\n$ cat a\none\n$ false\n```\n\n"
        "<!-- not run: needs a registry -->\n```sh\npodman pull x\n```\n\n```yaml\n# some/file.yaml\na: 1\n```\n"
    )
    typed, pulled, file = blocks(page)
    assert steps(typed) == [Step("cat > a <<END\none\nEND", ""), Step("cat a", "one\n"), Step("false", "")]
    assert (typed.line, pulled.not_run, file.file) == (1, "needs a registry", "some/file.yaml")


def test_a_shell_keeps_directory_variables_and_exit_code(tmp_path: Path) -> None:
    with Shell(tmp_path) as shell:
        assert shell.type("mkdir x; cd x; export A=1; printf no-newline").printed == "no-newline\n"
        assert shell.type("echo $A $(basename $PWD); false").code == 1
        assert shell.type("echo $?").printed == "1\n"


def test_what_a_page_leaves_running_is_named_and_ended(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"sleep 987"), Shell(tmp_path, seconds=0.2) as shell:
        shell.type("setsid sleep 987 > /dev/null 2>&1 &")
