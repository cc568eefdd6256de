"""Modules do not import each other in a circle, not even for type checking."""

from pathlib import Path

import pytest
from tools.import_cycles import cycles, imports, modules, waits_for_own_package

pytestmark = pytest.mark.slow


def test_no_modules_import_each_other_for_type_checking_alone() -> None:
    graph = imports(modules())
    running = {name: [target for target, typing in found.items() if not typing] for name, found in graph.items()}
    assert len(graph) > 1000
    assert cycles(graph) == cycles(running)


def test_no_modules_of_the_server_import_each_other() -> None:
    found = [cycle for cycle in cycles(imports(modules())) if any(".server." in name for name in cycle)]
    assert found == []


def test_a_cycle_for_type_checking_is_found(tmp_path: Path) -> None:
    package = tmp_path / "setpoint"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text("from setpoint.two import Two\n")
    (package / "two.py").write_text(
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from setpoint.one import One\n"
    )
    graph = imports(modules(tmp_path))
    assert graph["setpoint.two"] == {"setpoint.one": True}
    assert cycles(graph) == [["setpoint.one", "setpoint.two"]]


def test_no_module_waits_for_the_package_that_imports_it() -> None:
    """The first request for a kind may import modules while a thread imports all of them."""
    assert waits_for_own_package(modules()) == []


def test_a_module_that_waits_for_its_package_is_found(tmp_path: Path) -> None:
    package = tmp_path / "setpoint"
    package.mkdir()
    (package / "__init__.py").write_text("from setpoint.one import One\n")
    (package / "one.py").write_text("from setpoint import two\n")
    (package / "two.py").write_text("import setpoint.three as three\n")
    (package / "three.py").write_text("")
    assert waits_for_own_package(modules(tmp_path)) == ["setpoint.one: from setpoint import two"]
