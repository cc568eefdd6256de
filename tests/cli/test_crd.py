"""`setpoint crd`, as someone at a terminal meets it."""

import sys

import pytest
import yaml
from click.testing import CliRunner
from tests.cli.widgets import Gadget, Widget, WidgetBeta

from setpoint.cli.main import main


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


def test_a_class_prints_its_definition() -> None:
    code, output = run("crd", "tests.cli.widgets:Gadget")
    assert code == 0
    assert yaml.safe_load(output) == Gadget.crd()
    assert output.startswith("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n")


def test_versions_of_a_kind_print_one_definition_and_kinds_print_several() -> None:
    targets = [f"tests.cli.widgets:{cls.__name__}" for cls in (Widget, Gadget, WidgetBeta)]
    code, output = run("crd", *targets)
    assert code == 0
    widgets, gadgets = yaml.safe_load_all(output)
    assert [version["name"] for version in widgets["spec"]["versions"]] == ["v1", "v1beta1"]
    assert gadgets["metadata"]["name"] == "gadgets.ex.com"


def test_the_storage_version_can_be_chosen() -> None:
    _, output = run("crd", "--storage", "v1beta1", "tests.cli.widgets:Widget", "tests.cli.widgets:WidgetBeta")
    versions = yaml.safe_load(output)["spec"]["versions"]
    assert [version["name"] for version in versions if version["storage"]] == ["v1beta1"]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("nowhere.at.all:Widget", "Error: module nowhere.at.all not found in the current directory"),
        (
            "tests.cli.widgets:Widgit",
            "Error: tests.cli.widgets has no class Widgit; available classes: Forest",
        ),
        (
            "tests.cli.widgets:WidgetSpec",
            "Error: tests.cli.widgets:WidgetSpec is not a resource class: derive the class from Resource",
        ),
        ("tests.cli.widgets:Base", "Error: tests.cli.widgets:Base is not a resource class"),
        ("tests.cli.widgets:Forest", "Error: Tree.below: Tree contains itself (Tree -> Tree)"),
        ("tests.cli.widgets:", "expected MODULE:CLASS"),
        (":Widget", "expected MODULE:CLASS"),
        ("tests.cli.test_crd", "Error: tests.cli.test_crd has no subclass of Resource"),
        ("..:Widget", "Error: cannot import .."),
    ],
)
def test_mistakes_are_told_in_a_line_without_a_traceback(target: str, words: str) -> None:
    code, output = run("crd", target)
    assert code != 0
    assert words in output
    assert "Traceback" not in output


def test_a_module_that_fails_is_told(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(str(tmp_path))
    with open("broken_widgets.py", "w") as file:
        file.write("1 / 0\n")
    with open("needy_widgets.py", "w") as file:
        file.write("import not_installed_anywhere\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert "cannot import broken_widgets: ZeroDivisionError" in run("crd", "broken_widgets:X")[1]
    assert "needy_widgets imports not_installed_anywhere, which is not installed" in run("crd", "needy_widgets:X")[1]
