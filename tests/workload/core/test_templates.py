"""Templates: their values, what they wait for, and why some never have a value."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.workload.core.template_world import WEB, World

from setpoint.objects.frozen import freeze
from setpoint.workload.templates import NotYet, TemplateError, TemplateReference, references, render

CASES = yaml.safe_load((Path(__file__).parent / "cases" / "templates.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=[str(index) for index in range(len(CASES))])
def test_a_template_has_its_value_or_says_what_it_waits_for_or_why_it_has_none(case: dict[str, Any]) -> None:
    subject = freeze(WEB)
    if "error" in case:
        with pytest.raises(TemplateError) as wrong:
            render(case["text"], subject, World())
        assert case["error"] in str(wrong.value)
        assert wrong.value.column == case["column"]
    elif "waits" in case:
        with pytest.raises(NotYet) as waiting:
            render(case["text"], subject, World())
        assert [str(each) for each in waiting.value.needs] == case["waits"]
    else:
        assert render(case["text"], subject, World()) == (case["value"], case.get("shown", case["value"]))


def test_references_are_known_without_asking_anybody() -> None:
    text = '{{ portFor "ns/db" }}{{ urlFor "db" "https" }}{{ envOf "Container" "c" "X" | default (secret "s" "k") }}'
    assert references(text) == [
        TemplateReference("portFor", "Service", "db"),
        TemplateReference("urlFor", "Service", "db", ("https",)),
        TemplateReference("envOf", "Container", "c", ("X",)),
        TemplateReference("secret", "Secret", "s", ("k",)),
    ]
    assert references("no { template } here") == []
    text = '{{ if portFor "a" }}{{ portFor "b" }}{{ else }}{{ portFor "c" }}{{ end }}'
    assert [each.name for each in references(text)] == ["a", "b", "c"]
    assert [each.name for each in references(text, certain=True)] == ["a"]


CONTAINER = {
    "kind": "Container",
    "metadata": {"name": "c"},
    "spec": {
        "ports": [{"containerPort": 80, "hostPort": 8080}, {"containerPort": 8080}],
        "serves": [
            {"service": "a", "port": 8080},
            {"service": "b", "port": 80},
            {"service": "c"},
            {"service": "d", "port": 9},
        ],
    },
}


def test_a_container_serves_on_the_container_port_that_its_port_is_mapped_to() -> None:
    assert render('{{ portForServing "a" }}', CONTAINER, World()).text == "80"
    assert render('{{ portForServing "b" }}', CONTAINER, World()).text == "80"
    with pytest.raises(TemplateError, match=r"a Container requires a port to serve c; set the port"):
        render('{{ portForServing "c" }}', CONTAINER, World())
    with pytest.raises(TemplateError, match=r"port 9 of Service d is not in spec.ports; add the port there"):
        render('{{ portForServing "d" }}', CONTAINER, World())


def test_an_annotation_that_cannot_be_read_says_how_it_should_look() -> None:
    broken = {**WEB, "metadata": {"name": "x", "annotations": {"service-producer": '{"serviceName": 3'}}}
    with pytest.raises(TemplateError, match=r"annotation service-producer is invalid.*expected e.g."):
        render('{{ portForServing "db" }}', broken, World())


@given(st.text())
def test_text_without_braces_is_its_own_value(text: str) -> None:
    plain = text.replace("{{", "")
    if "{{" not in plain:
        assert render(plain, WEB, World()) == (plain, plain)


@given(st.text(alphabet="{}-/*\"`'|()$.abcportF 0\\\n"))
def test_any_text_is_a_value_or_a_clear_refusal(text: str) -> None:
    with suppress(TemplateError, NotYet):
        assert isinstance(render(text, WEB, World()).text, str)
        references(text)
