"""`setpoint get` against a real server: tables, forms, selectors, several kinds, watches, and what is not there."""

import subprocess
import sys

import pytest
import yaml
from tests.cli.conftest import Command, Served

PRICES = """
apiVersion: v1
kind: ConfigMap
metadata: {name: prices, labels: {app: shop, tier: web}}
data: {bread: "2", milk: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: hours, labels: {app: shop}}
data: {monday: 9-17}
"""


@pytest.fixture
def shop(setpoint: Command, namespace: str) -> str:
    assert setpoint("apply", "-n", namespace, "-f", "-", text=PRICES).code == 0
    return namespace


def columns(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_objects_are_shown_as_the_servers_own_table(setpoint: Command, shop: str) -> None:
    ran = setpoint("get", "cm", "-n", shop, "-l", "app=shop")
    assert ran.code == 0
    head, *rows = columns(ran.stdout)
    assert head == ["NAME", "DATA", "AGE"]
    assert [row[:2] for row in rows] == [["hours", "1"], ["prices", "2"]]


@pytest.mark.parametrize("word", ["configmaps", "configmap", "ConfigMap", "cm", "configmaps.v1"])
def test_a_kind_has_many_names(setpoint: Command, shop: str, word: str) -> None:
    assert setpoint("get", word, "prices", "-n", shop, "-o", "name").stdout == "configmap/prices\n"


def test_options_that_name_the_server_may_stand_before_the_command(setpoint: Command, shop: str) -> None:
    assert setpoint("-n", shop, "get", "cm/prices", "-o", "name").stdout == "configmap/prices\n"


def test_selectors_choose(setpoint: Command, shop: str) -> None:
    assert setpoint("get", "cm", "-n", shop, "-l", "tier=web", "-o", "name").stdout == "configmap/prices\n"
    chosen = setpoint("get", "cm", "-n", shop, "--field-selector", "metadata.name=hours", "-o", "name")
    assert chosen.stdout == "configmap/hours\n"


def test_a_name_and_a_selector_are_a_mistake(setpoint: Command, shop: str) -> None:
    ran = setpoint("get", "cm", "prices", "-l", "a=b")
    assert ran.code == 2
    assert "cannot be combined" in ran.stderr


def test_several_kinds_come_one_after_the_other_with_their_kinds_before_the_names(setpoint: Command, shop: str) -> None:
    ran = setpoint("get", "ns/default", "cm/prices", "-n", shop)
    assert [row[0] for row in columns(ran.stdout) if row] == ["NAME", "namespace/default", "NAME", "configmap/prices"]


def test_all_namespaces_have_a_column_for_them(setpoint: Command, shop: str) -> None:
    ran = setpoint("get", "cm", "-A", "-l", "tier=web")
    assert [shop, "prices", "2"] in [row[:3] for row in columns(ran.stdout)]
    assert columns(ran.stdout)[0][0] == "NAMESPACE"


def test_one_object_as_yaml_is_the_object_and_several_are_a_list(setpoint: Command, shop: str) -> None:
    one = yaml.safe_load(setpoint("get", "cm/prices", "-n", shop, "-o", "yaml").stdout)
    assert one["data"] == {"bread": "2", "milk": "1"}
    assert "managedFields" not in one["metadata"]
    several = yaml.safe_load(setpoint("get", "cm", "-n", shop, "-l", "app=shop", "-o", "json").stdout)
    assert several["kind"] == "List"
    assert [each["metadata"]["name"] for each in several["items"]] == ["hours", "prices"]


def test_owners_of_fields_are_shown_where_they_are_asked_for(setpoint: Command, shop: str) -> None:
    tree = yaml.safe_load(setpoint("get", "cm/prices", "-n", shop, "-o", "yaml", "--show-managed-fields").stdout)
    assert [each["manager"] for each in tree["metadata"]["managedFields"]] == ["setpoint"]


def test_a_path_prints_what_it_finds(setpoint: Command, shop: str) -> None:
    template = 'jsonpath={range .items[*]}{.metadata.name}={.data.bread}{"\\n"}{end}'
    ran = setpoint("get", "cm", "-n", shop, "-l", "app=shop", "-o", template)
    assert ran.stdout.split() == ["hours=", "prices=2"]


def test_columns_of_ones_own(setpoint: Command, shop: str) -> None:
    form = "custom-columns=NAME:.metadata.name,BREAD:.data.bread"
    ran = setpoint("get", "cm", "-n", shop, "-l", "app=shop", "-o", form)
    assert columns(ran.stdout) == [["NAME", "BREAD"], ["hours", "<none>"], ["prices", "2"]]


def test_rows_are_sorted_by_a_field_and_those_without_it_come_first(setpoint: Command, shop: str) -> None:
    ran = setpoint("get", "cm", "-n", shop, "-l", "app=shop", "--sort-by", ".data.bread", "--no-headers")
    assert [row[0] for row in columns(ran.stdout)] == ["hours", "prices"]
    ran = setpoint("get", "cm", "-n", shop, "-l", "app=shop", "--sort-by", "{.data.monday}", "--no-headers")
    assert [row[0] for row in columns(ran.stdout)] == ["prices", "hours"]


def test_labels_become_columns(setpoint: Command, shop: str) -> None:
    ran = setpoint("get", "cm", "prices", "-n", shop, "-L", "tier", "--show-labels")
    head, row = columns(ran.stdout)
    assert head == ["NAME", "DATA", "AGE", "TIER", "LABELS"]
    assert row[-2:] == ["web", "app=shop,tier=web"]


def test_what_is_not_there_is_told_and_the_rest_is_shown(setpoint: Command, shop: str) -> None:
    ran = setpoint("get", "cm", "nope", "prices", "-n", shop)
    assert ran.code == 3
    assert "prices" in ran.stdout
    assert 'configmaps "nope" not found' in ran.stderr
    assert setpoint("get", "cm", "nope", "-n", shop, "--ignore-not-found").code == 0


def test_nothing_at_all_is_no_failure(setpoint: Command, shop: str) -> None:
    ran = setpoint("get", "pods", "-n", shop)
    assert (ran.code, ran.stdout) == (0, "")
    assert ran.stderr == f"No resources found in namespace {shop}.\n"


def test_a_kind_that_is_mistyped_is_suggested(setpoint: Command) -> None:
    ran = setpoint("get", "exectuables")
    assert ran.code == 3
    assert "did you mean executables" in ran.stderr


def test_a_form_that_does_not_exist_names_those_that_do(setpoint: Command) -> None:
    ran = setpoint("get", "ns", "-o", "xml")
    assert ran.code == 2
    assert "json, yaml, name, wide, jsonpath, custom-columns" in ran.stderr


def test_the_past_can_be_read(setpoint: Command, shop: str) -> None:
    before = yaml.safe_load(setpoint("get", "cm/prices", "-n", shop, "-o", "yaml").stdout)
    changed = PRICES.replace('"2"', '"3"')
    assert setpoint("apply", "-n", shop, "-f", "-", text=changed).code == 0
    revision = before["metadata"]["resourceVersion"]
    at = setpoint("get", "cm/prices", "-n", shop, "--at", revision, "-o", "jsonpath={.data.bread}")
    assert at.stdout == "2\n"
    assert setpoint("get", "cm/prices", "-n", shop, "-o", "jsonpath={.data.bread}").stdout == "3\n"


def test_any_path_of_the_server_can_be_read(setpoint: Command) -> None:
    assert setpoint("get", "--raw", "/readyz").stdout == "ok\n"


@pytest.mark.parametrize("form", [[], ["-o", "name"]])
def test_a_watch_shows_what_is_there_and_each_change(
    setpoint: Command, served: Served, shop: str, form: list[str]
) -> None:
    command = [sys.executable, "-m", "setpoint", "get", "cm", "-n", shop, "-l", "app=shop", "-w", "--no-headers", *form]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=dict(served.environ), text=True) as watching:
        assert watching.stdout is not None
        first = {watching.stdout.readline().split()[0] for _ in range(2)}
        assert first == {f"{'configmap/' if form else ''}{name}" for name in ("hours", "prices")}
        assert setpoint("apply", "-n", shop, "-f", "-", text=PRICES.replace('"2"', '"4"')).code == 0
        assert "prices" in watching.stdout.readline()
        watching.terminate()
