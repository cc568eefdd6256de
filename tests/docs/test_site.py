"""The pages become a site: every link and anchor leads somewhere, and nothing of it comes from elsewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import DOCS

pytestmark = pytest.mark.slow

_LOADED = re.compile(r"""<(?:script|img|iframe|link(?! rel="canonical"))[^>]*?(?:src|href)=["'](?:https?:)?//[^"']*""")


def build(source: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Builds as `make docs` does."""
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "--quiet",
        "--fail-on-warning",
        "-d",
        f"{site}-read",
        str(source),
        str(site),
    ]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_site_is_built_whole_and_can_be_read_and_searched_without_a_network(tmp_path: Path) -> None:
    site = tmp_path / "site"
    done = build(DOCS, site)
    assert done.returncode == 0, done.stderr
    pages = {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")}
    assert {path.relative_to(DOCS).with_suffix("") for path in DOCS.rglob("*.md")} <= pages
    text = "".join(path.read_text() for path in (*site.rglob("*.html"), *site.rglob("*.css")))
    assert _LOADED.findall(text) == []
    assert re.findall(r"url\(\s*[\"']?(?:https?:)?//[^)]*|@import[^;]*//[^;]*", text) == []
    # The index is a program, not data that is fetched: it works from a file, too.
    assert "Search.setIndex" in (site / "searchindex.js").read_text()
    assert (site / "setpoint.schema.json").is_file()


def test_a_link_that_leads_nowhere_ends_the_build_and_so_does_a_page_that_is_in_no_order(tmp_path: Path) -> None:
    source = tmp_path / "docs"
    (source / "site").mkdir(parents=True)
    own = f"exec(open({str(DOCS / 'conf.py')!r}).read())\n"
    (source / "conf.py").write_text(f"{own}NAVIGATION = {{'index': {{'': ['other']}}}}\nhtml_extra_path = []\n")
    (source / "site/site.css").touch()
    (source / "other.md").write_text("# Other\n")
    (source / "forgotten.md").write_text("# Forgotten\n")
    bad = ("page.md", "other.md#anchor", "#here", "../program.py")
    links = "".join(f"[nowhere]({each})\n\n" for each in bad)
    (source / "index.md").write_text(f"# Index\n\n{links}![nowhere](picture.svg)\n\n[somewhere](other.md#other)\n")
    done = build(source, tmp_path / "site")
    assert done.returncode != 0
    told = [line for line in done.stderr.splitlines() if "WARNING" in line]
    assert len(told) == len(bad) + 2, done.stderr
    for said in ("page.md", "anchor", "here", "../program.py", "picture.svg", "forgotten.md"):
        assert any(said in line for line in told), said
