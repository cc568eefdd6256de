"""Objects, users and programs that say what a terminal must not hear: every command that prints shows it as text."""

import re
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.cli.conftest import Command, Served
from tests.cli.pseudo_terminal import shown

from setpoint.cli.output.terminal import harmless, shown_on_terminal

# Runs hundreds of random cases.
pytestmark = pytest.mark.slow

GROUP = "usvc-dev.developer.microsoft.com/v1"
# Clears the screen, sets the title, writes the clipboard, moves the cursor, shows what follows from right to left, and
# has characters that cannot be seen.
ORDERS = "\x1b[2J\x1b]0;owned\x07\x1b]52;c;b3duZWQ=\x07\x1b[1;1H\x9b2J\x1bc\x08"
UNSEEN = "\u202egnp.exe\u2066\u2069\u200f\u061c\u200b\u2028\ufeff\U000e0041\xad"
HOSTILE = f"a{ORDERS}{UNSEEN}z"
_COLOUR = re.compile(r"\x1b\[[\d;:]*m")
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)


def check(text: str) -> None:
    # A line of progress is written over.
    text = text.replace("\r\x1b[K", "").rstrip("\r")
    found = _FORBIDDEN.search(_COLOUR.sub("", text))
    assert found is None, (found, text[max(found.start() - 60, 0) : found.end() + 20])


@pytest.fixture(scope="module")
def hostile(served: Served) -> Iterator[str]:
    """The name of objects that hold such texts wherever one may write any: data, annotations, messages, output."""
    from tests.cli.conftest import setpoint as fixture

    run = fixture.__wrapped__ if hasattr(fixture, "__wrapped__") else None
    assert run is not None
    setpoint: Command = run(served)
    name = f"hostile-{uuid.uuid4().hex[:6]}"
    code = f"import sys,time; sys.stdout.write({HOSTILE!r} + chr(10)); sys.stdout.flush(); sys.exit(3)"
    objects = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "annotations": {"note": HOSTILE}},
            "data": {"k": HOSTILE, "more": f"{HOSTILE}\n{HOSTILE}"},
        },
        {
            "apiVersion": GROUP,
            "kind": "Executable",
            "metadata": {"name": name, "annotations": {"note": HOSTILE}},
            "spec": {"executablePath": sys.executable, "args": ["-c", code], "env": [{"name": "V", "value": HOSTILE}]},
        },
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name},
            "involvedObject": {"kind": "ConfigMap", "name": name, "namespace": "default"},
            "reason": HOSTILE,
            "message": HOSTILE,
            "type": "Warning",
        },
    ]
    for each in objects:
        made = setpoint("apply", "-f", "-", text=yaml.safe_dump(each))
        assert made.code == 0, made.stderr
    changed = {**objects[0], "data": {"k": f"{HOSTILE} again", "more": HOSTILE}}
    assert setpoint("apply", "-f", "-", text=yaml.safe_dump(changed)).code == 0
    setpoint("wait", f"exe/{name}", "--for", "jsonpath={.status.exitCode}=3", "--timeout", "30s")
    yield name
    setpoint("delete", f"exe/{name}", "--no-wait")


COMMANDS = [
    "get configmap/NAME",
    "get configmap/NAME -o yaml",
    "get configmap/NAME -o json",
    "get configmap/NAME -o jsonpath={.data.k}",
    "get configmap/NAME -o custom-columns=K:.data.k",
    "get events",
    "get events -o wide",
    "get exe/NAME -o yaml",
    "describe configmap/NAME",
    "describe exe/NAME",
    "why configmap/NAME",
    "why exe/NAME",
    "history configmap/NAME",
    "history configmap/NAME -o wide",
    "history configmap/NAME -o yaml",
    "diff configmap/NAME",
    "diff configmap/NAME -o name",
    "blame configmap/NAME",
    "blame exe/NAME",
    "timeline exe/NAME",
    "trace exe/NAME",
    "ps",
    "ps -o wide",
    "top",
    "env NAME",
    "logs NAME",
    "logs NAME --timestamps",
    "graph",
    "graph -o mermaid",
    "graph -o dot",
    "wait configmap/NAME --for jsonpath={.data.k}=x --timeout 1s",
    "get \x1b[2J\u202e",
    "delete configmap/\u202e\x1b[2J",
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda text: ascii(text))
def test_no_command_hands_a_terminal_what_an_object_says(command: str, served: Served, hostile: str) -> None:
    words = [word.replace("NAME", hostile) for word in command.split()]
    text = shown([sys.executable, "-m", "setpoint", *words], 200, {**served.environ, "TERM": "xterm"})
    assert text
    check(text)


DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "description": HOSTILE, "title": HOSTILE}},
            }
        ],
    },
}


@pytest.mark.parametrize(
    ("words", "content"),
    [
        (("models", "FILE"), yaml.safe_dump(DEFINITION)),
        (("models", "FILE"), f"kind: CustomResourceDefinition\n{UNSEEN}: [\n"),
        (("serve", "--config", "FILE"), yaml.safe_dump({HOSTILE: HOSTILE})),
        (("serve", "--print-config", "--config", "FILE"), yaml.safe_dump({"token": HOSTILE, "kubeconfig": HOSTILE})),
        (("crd", f"{HOSTILE}:A"), ""),
    ],
    ids=["models", "models that fails", "serve that fails", "print-config", "crd that fails"],
)
def test_no_command_hands_a_terminal_what_a_file_says(
    words: tuple[str, ...], content: str, tmp_path: Path, served: Served
) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(content)
    command = [sys.executable, "-m", "setpoint", *(str(file) if word == "FILE" else word for word in words)]
    text = shown(command, 200, {**served.environ, "TERM": "xterm"})
    assert text
    check(text)


def test_a_pipe_gets_the_text_as_it_is(setpoint: Command, hostile: str) -> None:
    found = setpoint("get", f"configmap/{hostile}", "-o", "jsonpath={.data.k}")
    assert "\u202e" in found.stdout


@pytest.mark.parametrize("text", [HOSTILE, ORDERS, UNSEEN, "\x1b[31mred", "\x1b", "\x1b[", "\ud800", "a\tb\nc"])
def test_only_colours_are_left(text: str) -> None:
    check(harmless(text))
    check(shown_on_terminal(text))
    assert "\x1b" not in harmless(text)
    shown_on_terminal(text).encode()
    assert harmless("a\tb\nc ‍é 日本") == "a\tb\nc ‍é 日本"


def test_colours_stay_and_end_where_the_text_does() -> None:
    assert shown_on_terminal("\x1b[31mred") == "\x1b[31mred\x1b[0m"
    assert shown_on_terminal("\x1b[31mred\x1b[0m, plain") == "\x1b[31mred\x1b[0m, plain"
