"""No pattern that sees a user's text backtracks: each takes time linear in the text."""

from pathlib import Path

import pytest
from tests.cpu_limit import in_child, is_over_limit
from tests.patterns import BOUNDED, patterns_of

PACKAGES = ("setpoint.objects", "setpoint.schema", "setpoint.server")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_pattern_takes_linear_time(package: str) -> None:
    done = in_child("tests.patterns", package)
    assert not is_over_limit(done), f"{done.stdout.splitlines()[-1]} backtracks"
    assert done.returncode == 0, done.stderr
    *names, number = done.stdout.splitlines()
    assert len(names) == int(number) > 20


def test_the_rules_of_kinds_are_among_the_patterns() -> None:
    methods = {found.name: found.methods for found in patterns_of(["setpoint.server.registry"])}
    assert "setpoint.server.registry.kinds.core.volume_sources._INITIATORS['iqn']" in methods
    assert methods["setpoint.server.registry.kinds.core.pod.security._CONTROL"] == {"search"}


def test_patterns_with_bounded_texts_exist() -> None:
    assert set(BOUNDED) <= {found.name for found in patterns_of(PACKAGES)}


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(r'is_iqn = re.compile(r"iqn\.([a-z]+(-[a-z]+)*\.?)+(:[^,\s]+)\Z").match', id="nested"),
        pytest.param(r'{"a": re.compile(r"x*x*x*y")}', id="adjacent"),
        pytest.param(r'found = re.compile(r"-----BEGIN (\w+)-----.*?-----END \1-----", re.S).finditer', id="pairs"),
        pytest.param(r'split = lambda text: re.search(r"[0-9]+ days", text)', id="inline"),
    ],
)
def test_a_pattern_that_backtracks_is_found(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "setpoint_slow_pattern"
    (tmp_path / f"{name}.py").write_text(
        f"import re\nRULE = {source}\n" if source.startswith("{") else f"import re\n{source}\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = in_child("tests.patterns", name)
    assert is_over_limit(done), done
    assert done.stdout.startswith(name)
