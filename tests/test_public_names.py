"""`import setpoint as sp`: its names are there, and cost nothing before they are used."""

import importlib
import pkgutil
import subprocess
import sys

import pytest

import setpoint as sp
from setpoint import flow


@pytest.mark.parametrize("name", sp.__all__)
def test_a_public_name_is_there(name: str) -> None:
    assert getattr(sp, name) is not None


def test_a_name_that_is_not_there_is_an_ordinary_mistake() -> None:
    with pytest.raises(AttributeError, match="module 'setpoint' has no attribute 'Nothing'"):
        _ = sp.Nothing


def test_importing_setpoint_imports_nothing_else_of_it() -> None:
    code = "import sys, setpoint; print([name for name in sys.modules if name.startswith('setpoint.')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("name", flow.__all__)
def test_a_public_name_of_relations_is_there(name: str) -> None:
    assert getattr(flow, name) is not None


def _packages() -> list[str]:
    found = pkgutil.walk_packages(sp.__path__, "setpoint.")
    return [module.name for module in found if module.ispkg]


@pytest.mark.parametrize("package", _packages())
def test_every_name_that_a_package_exports_is_there(package: str) -> None:
    """Packages load their names when they are asked for: a module that moved would be missed by nobody else."""
    module = importlib.import_module(package)
    for name in getattr(module, "__all__", ()):
        assert getattr(module, name) is not None


def test_a_name_that_relations_do_not_have_is_an_ordinary_mistake() -> None:
    with pytest.raises(AttributeError, match=r"module 'setpoint\.flow' has no attribute 'Nothing'"):
        _ = flow.Nothing


def test_importing_flow_imports_nothing_else_of_it() -> None:
    code = "import sys, setpoint.flow; print([name for name in sys.modules if name.startswith('setpoint.')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "['setpoint.flow']"
