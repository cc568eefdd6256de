"""`setpoint apply`, `delete`, `edit`, `scale` and `wait` against a real server."""

import sys
from pathlib import Path

import pytest
import yaml
from tests.cli.conftest import Command

from setpoint.cli.objects.edit import rebased


def config_map(name: str, **data: str) -> str:
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


def bread(setpoint: Command, namespace: str) -> str:
    return setpoint("get", "cm/prices", "-n", namespace, "-o", "jsonpath={.data.bread}").stdout.strip()


@pytest.fixture
def prices(setpoint: Command, namespace: str) -> str:
    assert setpoint("apply", "-n", namespace, "-f", "-", text=config_map("prices", bread="2")).code == 0
    return namespace


# Apply


def test_apply_says_what_it_did_to_each_object(setpoint: Command, prices: str) -> None:
    text = config_map("prices", bread="2") + "---\n" + config_map("hours", monday="9-17")
    ran = setpoint("apply", "-n", prices, "-f", "-", text=text)
    assert ran.stdout.splitlines() == ["configmap/prices unchanged", "configmap/hours created"]
    ran = setpoint("apply", "-n", prices, "-f", "-", text=config_map("prices", bread="3"))
    assert ran.stdout == "configmap/prices configured\n"
    assert bread(setpoint, prices) == "3"


def test_what_a_file_no_longer_says_goes(setpoint: Command, prices: str) -> None:
    setpoint("apply", "-n", prices, "-f", "-", text=config_map("prices", milk="1"))
    tree = yaml.safe_load(setpoint("get", "cm/prices", "-n", prices, "-o", "yaml").stdout)
    assert tree["data"] == {"milk": "1"}


def test_a_dry_run_changes_nothing_and_a_diff_shows_what_would(setpoint: Command, prices: str) -> None:
    ran = setpoint("apply", "-n", prices, "-f", "-", "--dry-run", "--diff", text=config_map("prices", bread="3"))
    assert ran.stdout.startswith("configmap/prices configured (dry run)\n")
    assert '-  bread: "2"' in ran.stdout
    assert '+  bread: "3"' in ran.stdout
    assert bread(setpoint, prices) == "2"


def test_the_diff_of_a_secret_hides_its_values(setpoint: Command, namespace: str) -> None:
    def secret(value: str) -> str:
        return f"apiVersion: v1\nkind: Secret\nmetadata: {{name: db}}\nstringData: {{password: {value}}}\n"

    setpoint("apply", "-n", namespace, "-f", "-", text=secret("geheim"))
    ran = setpoint("apply", "-n", namespace, "-f", "-", "--diff", text=secret("anders"))
    assert "password: '*** (after)'" in ran.stdout
    assert "YW5kZXJz" not in ran.stdout
    assert "anders" not in ran.stdout


def test_directories_are_read_and_with_r_what_is_below(setpoint: Command, namespace: str, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "one.yaml").write_text(config_map("one"))
    (tmp_path / "note.txt").write_text("no object")
    (tmp_path / "below" / "two.yml").write_text(config_map("two"))
    assert setpoint("apply", "-n", namespace, "-f", str(tmp_path)).stdout.splitlines() == ["configmap/one created"]
    ran = setpoint("apply", "-n", namespace, "-R", "-f", str(tmp_path))
    assert sorted(ran.stdout.splitlines()) == ["configmap/one unchanged", "configmap/two created"]


def test_a_kind_and_its_first_object_may_stand_in_one_file(setpoint: Command, namespace: str) -> None:
    plural = f"w{namespace.removeprefix('test-')}s"
    kind = plural.capitalize()[:-1]
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.ex.com"},
        "spec": {
            "group": "ex.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    widget = {"apiVersion": "ex.com/v1", "kind": kind, "metadata": {"name": "first"}}
    # The object comes first: order in a file is no order to make things in.
    text = yaml.safe_dump_all([widget, definition])
    ran = setpoint("apply", "-n", namespace, "-f", "-", text=text)
    assert (ran.code, ran.stderr) == (0, "")
    assert setpoint("get", plural, "-n", namespace, "-o", "name").stdout == f"{kind.lower()}.ex.com/first\n"
    setpoint("delete", "crd", f"{plural}.ex.com", "--no-wait")


def test_what_fails_is_named_and_the_rest_is_applied(setpoint: Command, namespace: str) -> None:
    text = config_map("Not_A_Name") + "---\n" + config_map("good") + "---\n" + "datum: {}\n" + config_map("x")
    ran = setpoint("apply", "-n", namespace, "-f", "-", text=text)
    assert ran.code == 1
    assert ran.stdout == "configmap/good created\n"
    assert "ConfigMap Not_A_Name" in ran.stderr
    assert "ConfigMap x: " in ran.stderr
    assert "datum" in ran.stderr


def test_a_conflict_names_the_field_and_the_owner_and_can_be_forced(setpoint: Command, prices: str) -> None:
    arguments = ("apply", "-n", prices, "-f", "-", "--field-manager", "other")
    ran = setpoint(*arguments, text=config_map("prices", bread="9"))
    assert ran.code == 7
    assert 'conflict with "setpoint": .data.bread' in ran.stderr
    assert "--force-conflicts" in ran.stderr
    assert bread(setpoint, prices) == "2"
    assert setpoint(*arguments, "--force-conflicts", text=config_map("prices", bread="9")).code == 0
    assert bread(setpoint, prices) == "9"


def test_a_set_loses_what_its_files_lose(setpoint: Command, namespace: str) -> None:
    both = config_map("one", a="1") + "---\n" + config_map("two")
    arguments = ("apply", "-n", namespace, "-f", "-", "--set", "shop")
    assert setpoint(*arguments, "--prune", text=both).code == 0
    ran = setpoint(*arguments, "--prune", "--dry-run", text=config_map("one", a="1"))
    assert ran.stdout.splitlines() == ["configmap/one unchanged (dry run)", "configmap/two pruned (dry run)"]
    assert setpoint("get", "cm/two", "-n", namespace).code == 0
    assert setpoint(*arguments, "--prune", text=config_map("one", a="1")).code == 0
    assert setpoint("get", "cm/two", "-n", namespace).code == 3


def test_pruning_without_a_set_is_refused(setpoint: Command) -> None:
    ran = setpoint("apply", "-f", "-", "--prune", text=config_map("one"))
    assert ran.code == 2
    assert "--set NAME" in ran.stderr
    assert setpoint("apply", "-f", "-", "--set", "shop", "-o", "yaml", text=config_map("one")).code == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [", "standard input: document 1 is not valid YAML"),
        ("hello", "standard input: document 1 is not an object: apiVersion or kind is missing"),
        ("", "no objects found in -"),
    ],
)
def test_what_is_no_manifest_is_told_with_where_it_stands(setpoint: Command, text: str, says: str) -> None:
    ran = setpoint("apply", "-f", "-", text=text)
    assert ran.code == 1
    assert says in ran.stderr


def test_a_file_that_is_not_there_is_named(setpoint: Command) -> None:
    ran = setpoint("apply", "-f", "nowhere.yaml")
    assert (ran.code, ran.stderr) == (3, "Error: file nowhere.yaml not found\n")


# Delete


def test_delete_waits_until_the_object_is_gone(setpoint: Command, prices: str) -> None:
    ran = setpoint("delete", "cm/prices", "-n", prices)
    assert (ran.code, ran.stdout) == (0, "configmap/prices deleted\n")
    assert setpoint("get", "cm/prices", "-n", prices).code == 3


def test_what_a_finalizer_holds_is_named_when_the_time_is_over(setpoint: Command, namespace: str) -> None:
    held = config_map("held").replace("name: held", "name: held\n  finalizers: [ex.com/hold]")
    setpoint("apply", "-n", namespace, "-f", "-", text=held)
    ran = setpoint("delete", "cm", "held", "-n", namespace, "--timeout", "200ms")
    assert ran.code == 4
    assert "waiting until configmap/held (finalizer ex.com/hold) is deleted" in ran.stderr
    # Nothing more holds it.
    assert setpoint("apply", "-n", namespace, "-f", "-", text=config_map("held")).code == 0


def test_a_kind_alone_is_not_deleted_whole(setpoint: Command, prices: str) -> None:
    ran = setpoint("delete", "cm", "-n", prices)
    assert ran.code == 2
    assert "or --all" in ran.stderr
    assert bread(setpoint, prices) == "2"


def test_delete_by_labels_files_and_all(setpoint: Command, namespace: str) -> None:
    labelled = config_map("labelled").replace("name: labelled", "name: labelled\n  labels: {app: shop}")
    setpoint("apply", "-n", namespace, "-f", "-", text=labelled + "---\n" + config_map("plain"))
    assert setpoint("delete", "cm", "-n", namespace, "-l", "app=shop").stdout == "configmap/labelled deleted\n"
    ran = setpoint("delete", "-n", namespace, "-f", "-", text=config_map("plain"))
    assert ran.stdout == "configmap/plain deleted\n"
    setpoint("apply", "-n", namespace, "-f", "-", text=labelled)
    dry = setpoint("delete", "cm", "-n", namespace, "--field-selector", "metadata.name=labelled", "--dry-run")
    assert dry.stdout == "configmap/labelled deleted (dry run)\n"
    assert setpoint("get", "cm/labelled", "-n", namespace).code == 0
    assert "configmap/labelled deleted" in setpoint("delete", "cm", "-n", namespace, "--all").stdout


def test_deleting_what_is_not_there_fails_unless_told(setpoint: Command, namespace: str) -> None:
    assert setpoint("delete", "cm/nope", "-n", namespace).code == 3
    assert setpoint("delete", "cm/nope", "-n", namespace, "--ignore-not-found").code == 0


# Edit


@pytest.fixture
def editor(tmp_path: Path) -> "Editor":
    return Editor(tmp_path)


class Editor:
    """An editor that does what a list of Python statements says, one each time it is opened; `text` is the text."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.seen = directory / "seen"

    def command(self, *statements: str) -> str:
        script = self._directory / "editor.py"
        script.write_text(
            "import sys\nfrom pathlib import Path\n"
            f"file, seen = Path(sys.argv[1]), Path({str(self.seen)!r})\n"
            "seen.mkdir(exist_ok=True)\nnumber = len(list(seen.iterdir()))\ntext = file.read_text()\n"
            "(seen / str(number)).write_text(text)\n"
            f"statements = {list(statements)!r}\nnames = {{'text': text}}\n"
            "exec(statements[min(number, len(statements) - 1)], names)\nfile.write_text(names['text'])\n"
        )
        return f"{sys.executable} {script}"

    def opened(self) -> list[str]:
        return [(self.seen / str(number)).read_text() for number in range(len(list(self.seen.iterdir())))]


def test_what_is_changed_in_the_editor_is_written(setpoint: Command, prices: str, editor: Editor) -> None:
    command = editor.command("text = text.replace('\"2\"', '\"5\"')")
    ran = setpoint("edit", "cm/prices", "-n", prices, EDITOR=command)
    assert (ran.code, ran.stdout) == (0, "configmap/prices edited\n")
    assert bread(setpoint, prices) == "5"


@pytest.mark.parametrize("statement", ["pass", "text = ''"])
def test_a_text_that_is_left_or_emptied_changes_nothing(
    setpoint: Command, prices: str, editor: Editor, statement: str
) -> None:
    ran = setpoint("edit", "cm", "prices", "-n", prices, EDITOR=editor.command(statement))
    assert (ran.code, ran.stdout, ran.stderr) == (0, "", "Edit cancelled, no changes made.\n")


def test_a_text_that_is_refused_comes_back_with_the_reason(setpoint: Command, prices: str, editor: Editor) -> None:
    command = editor.command(
        "text = text.replace('\\ndata:', '\\ndata: [')",
        "text = text.replace('data: [', 'datum:')",
        "text = text.replace('name: prices', 'name: other').replace('datum:', 'data:')",
        "text = text.replace('name: other', 'name: prices').replace('\"2\"', '\"6\"')",
    )
    ran = setpoint("edit", "cm/prices", "-n", prices, EDITOR=command)
    assert (ran.code, ran.stdout) == (0, "configmap/prices edited\n")
    first, second, third, fourth = editor.opened()
    assert "rejected" not in first
    assert "# The change was rejected:\n# " in second
    assert "yaml" in second
    assert 'unknown field "datum"' in third
    assert "metadata.name is immutable" in fourth
    assert bread(setpoint, prices) == "6"


def test_a_refused_text_that_is_given_up_fails_with_the_reason(setpoint: Command, prices: str, editor: Editor) -> None:
    command = editor.command("text = text.replace('\\ndata:', '\\ndatum:')", "pass")
    ran = setpoint("edit", "cm/prices", "-n", prices, EDITOR=command)
    assert ran.code == 1
    assert 'unknown field "datum"' in ran.stderr


def test_an_editor_that_fails_or_is_missing_is_named(setpoint: Command, prices: str, editor: Editor) -> None:
    ran = setpoint("edit", "cm/prices", "-n", prices, EDITOR="no-such-editor")
    assert ran.code == 1
    assert "cannot start the editor no-such-editor" in ran.stderr
    ran = setpoint("edit", "cm/prices", "-n", prices, EDITOR=editor.command("raise SystemExit(3)"))
    assert "exited with code 3; no changes made" in ran.stderr


def test_what_others_changed_meanwhile_is_kept(setpoint: Command, prices: str, editor: Editor) -> None:
    meanwhile = f"import subprocess, sys; subprocess.run([sys.executable, '-m', 'setpoint', 'apply', '-n', '{prices}', "
    meanwhile += "'--field-manager', 'other', '-f', '-'], input={text!r}.encode(), check=True); "
    other = config_map("prices", milk="1")
    command = editor.command(meanwhile.format(text=other) + "text = text.replace('\"2\"', '\"7\"')")
    assert setpoint("edit", "cm/prices", "-n", prices, EDITOR=command).code == 0
    tree = yaml.safe_load(setpoint("get", "cm/prices", "-n", prices, "-o", "yaml").stdout)
    assert tree["data"] == {"bread": "7", "milk": "1"}


def test_a_change_of_the_same_field_is_not_overwritten() -> None:
    before = {"metadata": {"name": "a", "resourceVersion": "1"}, "spec": {"items": [1], "other": 1}}
    after = {"metadata": {"name": "a", "resourceVersion": "1"}, "spec": {"items": [1, 2], "other": 1}}
    theirs = {"metadata": {"name": "a", "resourceVersion": "2"}, "spec": {"items": [3], "other": 1}}
    with pytest.raises(ValueError, match=r"another client changed \.spec\.items"):
        rebased(before, after, theirs)
    beside = {"metadata": {"name": "a", "resourceVersion": "2"}, "spec": {"items": [1], "other": 2}}
    assert rebased(before, after, beside) == {
        "metadata": {"name": "a", "resourceVersion": "2"},
        "spec": {"items": [1, 2], "other": 2},
    }


# Scale and wait

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}
"""


def test_scale_by_name_and_by_kind(setpoint: Command, namespace: str) -> None:
    setpoint("apply", "-n", namespace, "-f", "-", text=DEPLOYMENT)
    assert setpoint("scale", "-n", namespace, "web=3").stdout == "deployment/web scaled from 1 to 3\n"
    ran = setpoint("scale", "-n", namespace, "--replicas=2", "deploy/web")
    assert ran.stdout == "deployment/web scaled from 3 to 2\n"
    ran = setpoint("scale", "-n", namespace, "--replicas=5", "--current-replicas=1", "deploy", "web")
    assert ran.code == 7
    assert "has 2 desired replicas, expected 1" in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["cm/x", "--replicas=1"], 2, "configmap cannot be scaled"),
        (["deploy/web"], 2, "specify the number of replicas"),
        (["web=many"], 2, "expected NAME=NUMBER"),
        (["nothing-of-this-name=1"], 3, "no scalable object named"),
    ],
)
def test_what_cannot_be_scaled_is_told(setpoint: Command, arguments: list[str], code: int, says: str) -> None:
    ran = setpoint("scale", *arguments)
    assert ran.code == code
    assert says in ran.stderr


def test_wait_ends_when_all_objects_are_as_wanted(setpoint: Command, prices: str) -> None:
    ran = setpoint("wait", "-n", prices, "cm/prices", "--for", "jsonpath={.data.bread}=2", "--for", "create")
    assert (ran.code, ran.stdout) == (0, "configmap/prices is jsonpath={.data.bread}=2 and create\n")
    assert setpoint("wait", "-n", prices, "cm/gone", "--for=delete").code == 0


def test_wait_says_who_is_not_so_and_why(setpoint: Command, namespace: str) -> None:
    setpoint("apply", "-n", namespace, "-f", "-", text=DEPLOYMENT)
    ran = setpoint("wait", "-n", namespace, "deploy/web", "--timeout=100ms")
    assert ran.code == 4
    assert ran.stderr.startswith("Error: not ready within 0.1 s:\n  deployment/web: ")


def test_wait_refuses_what_nobody_can_wait_for(setpoint: Command) -> None:
    ran = setpoint("wait", "cm/x", "--for", "luck")
    assert ran.code == 2
    assert "ready, create, delete, condition=NAME" in ran.stderr
