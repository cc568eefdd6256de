"""`setpoint models`, as someone at a terminal meets it."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.cli.widgets import Gadget, Widget, WidgetBeta

from setpoint.cli.main import main
from setpoint.objects import yamltext
from setpoint.schema.types import crd_of


def run(*arguments: str, stdin: str | None = None) -> Result:
    result = CliRunner().invoke(main, ["models", *arguments], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    documents = [
        {"apiVersion": "v1", "kind": "Namespace"},
        crd_of(Widget, WidgetBeta),
        {"kind": "List", "items": [Gadget.crd()]},
    ]
    path = tmp_path / "crds.yaml"
    path.write_text("---\n".join(map(yamltext.dump, documents)))
    return path


def test_the_classes_of_a_file_print_the_same_definitions_again(
    manifest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run(str(manifest), "-o", str(tmp_path / "made_models.py"))
    assert (result.exit_code, result.output) == (0, "")
    monkeypatch.syspath_prepend(tmp_path)
    printed = CliRunner().invoke(main, ["crd", "made_models"]).output
    found = [document.tree for document in yamltext.load_all(printed)]
    assert found == [crd_of(Widget, WidgetBeta), Gadget.crd()]


def test_the_standard_input_is_read_and_the_classes_are_printed(manifest: Path) -> None:
    result = run("-", stdin=manifest.read_text())
    assert result.exit_code == 0
    assert 'class Gadget(Resource, group="ex.com", version="v1", short_names=["gd"]):' in result.output
    assert result.output == run(str(manifest)).output


def test_what_cannot_be_said_is_told_apart_from_the_source(manifest: Path) -> None:
    definition = Gadget.crd()
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["maxProperties"] = 9
    result = run("-", stdin=yamltext.dump(definition))
    assert result.stderr == "not supported: Gadget: maxProperties of the whole object\n"
    assert result.stdout.startswith('"""The kind Gadget of ex.com.')


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kind: Pod\n", "no CustomResourceDefinition found in -"),
        ("a: [", "-: yaml: "),
        ("apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\nspec: {}\n", "is too old"),
        (
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {versions: 3}\n",
            "is not complete",
        ),
    ],
)
def test_what_is_wrong_is_told(text: str, words: str) -> None:
    result = run("-", stdin=text)
    assert result.exit_code == 1
    assert words in result.output


def test_files_that_cannot_be_read_or_written_are_told(manifest: Path, tmp_path: Path) -> None:
    assert "none.yaml: No such file" in run(str(tmp_path / "none.yaml")).output
    assert "x.py: No such file" in run(str(manifest), "-o", str(tmp_path / "no" / "x.py")).output
