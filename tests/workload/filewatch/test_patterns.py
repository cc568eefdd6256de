"""Which files count: globs, and what is ignored as .gitignore says it."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from setpoint.workload.filewatch.patterns import DEFAULT_IGNORED, root_of
from setpoint.workload.ignore_patterns import by_git


@pytest.mark.parametrize(
    ("text", "base", "matching", "others"),
    [
        ("src", "/app/src", (), ()),
        ("./src/", "/app/src", (), ()),
        ("../lib", "/lib", (), ()),
        ("*.py", "/app", ("a.py", ".py"), ("a/b.py", "a.pyc")),
        ("src/**/*.py", "/app/src", ("a.py", "x/a.py", "x/y/a.py"), ("a.txt",)),
        ("src/*/conf.[ty]*", "/app/src", ("a/conf.toml", "b/conf.yaml"), ("conf.toml", "a/b/conf.toml", "a/conf.js")),
        ("src/[!a]?", "/app/src", ("bc",), ("ac", "b", "b/")),
        ("/etc/**", "/etc", ("a", "a/b"), ()),
    ],
)
def test_what_a_path_means(text: str, base: str, matching: tuple[str, ...], others: tuple[str, ...]) -> None:
    root = root_of(text, "/app")
    assert root.base == base
    for path in matching:
        assert root.pattern is not None
        assert root.pattern.fullmatch(path), path
    for path in others:
        assert root.pattern is not None
        assert not root.pattern.fullmatch(path), path


@pytest.mark.parametrize(
    "path",
    [".git/HEAD", "a/node_modules/b/c.js", "x/__pycache__/m.pyc", "main.py~", "a/.main.py.swp", "a/4913", ".#main.py"],
)
def test_what_nobody_means_is_ignored_unless_it_is_asked_for(path: str) -> None:
    assert by_git(DEFAULT_IGNORED)(path)
    assert not by_git(DEFAULT_IGNORED)("src/main.py")
    assert not by_git([*DEFAULT_IGNORED, "!*.swp"])("a/main.swp")


@pytest.mark.parametrize("pattern", ["[z-a]", "a[b", "a[", "[", "[]", "[!]", "[[:letter:]]", "a\\"])
def test_a_pattern_that_is_none_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="invalid pattern"):
        by_git([pattern])


def test_spaces_at_the_end_count_only_behind_a_backslash() -> None:
    assert [by_git(["a\\ "])(path) for path in ("a ", "a")] == [True, False]
    assert [by_git(["a  "])(path) for path in ("a ", "a")] == [False, True]
    assert [by_git([" a"])(path) for path in (" a", "a")] == [True, False]


def test_comments_and_what_looks_like_one() -> None:
    assert not by_git(["# a", "", "/", "!"])("# a")
    assert by_git([r"\#a", r"\!b"])("#a")
    assert by_git([r"\#a", r"\!b"])("!b")


_NAMES = st.sampled_from(["a", "b", "ab", "c.py", "*", "]", "-", "a b", "B", "7"])
_PARTS = (
    *("a", "b", "ab", "*", "a*", "?", "**", "***", "*.py", "a**", "**b", "a**b", r"\*", r"\a", "a b"),
    *(
        "[ab]",
        "[!a]",
        "[^a]",
        "[a-c]",
        "[!a-b]",
        "[]a]",
        "[a-]",
        r"[\]a]",
        "[^/]",
        "a[!z]b",
        "[[:alpha:]]",
        "[[:upper:]7]",
    ),
)
_PATTERNS = st.builds(
    lambda negated, rooted, parts, directory: f"{negated}{rooted}{'/'.join(parts)}{directory}",
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "/"]),
    st.lists(st.sampled_from(_PARTS), min_size=1, max_size=3),
    st.sampled_from(["", "/"]),
)


@pytest.mark.skipif(shutil.which("git") is None, reason="git judges what its patterns mean")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    patterns=st.lists(_PATTERNS, min_size=1, max_size=4),
    paths=st.lists(st.lists(_NAMES, min_size=1, max_size=3), min_size=1, max_size=8),
)
def test_git_judges_the_same(tmp_path: Path, patterns: list[str], paths: list[list[str]]) -> None:
    if not (tmp_path / ".git").exists():
        subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".gitignore").write_text("\n".join(patterns) + "\n")
    asked = sorted({"/".join(parts) for parts in paths})
    # Paths that are not there are judged as files, with directories before them.
    found = subprocess.run(
        ["git", "-C", tmp_path, "check-ignore", "--no-index", "--stdin"],
        input="\n".join(asked),
        capture_output=True,
        text=True,
        check=False,
    ).stdout.splitlines()
    ignored = by_git(patterns)
    assert [path for path in asked if ignored(path)] == found


def test_with_patterns_of_the_only_files_all_others_are_ignored() -> None:
    ignored = by_git(["test_*"], ["*.py", "/assets/"])
    names = ("a.py", "deep/b.py", "test_a.py", "a.txt", "assets/logo.png", "deep/assets/logo.png")
    assert [name for name in names if not ignored(name)] == ["a.py", "deep/b.py", "assets/logo.png"]
    assert not ignored("deep", is_directory=True)
