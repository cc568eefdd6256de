"""What a person sees: commands on a real pseudo-terminal of 80 and 140 columns, with colours and without.

The snapshots are texts that were looked at; a colour stands in them as `‹31›`, and its end as `‹›`. Run these tests
with UPDATE_SNAPSHOTS=1 to write them anew, and look at what changed.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.cli.conftest import Served
from tests.cli.pseudo_terminal import shown

pytestmark = pytest.mark.slow

SNAPSHOTS = Path(__file__).parent / "snapshots"
APP = Path(__file__).parent / "snapshots" / "app.yaml"
# Of one width each, so that columns stay where they are.
MASKS = (
    (re.compile(r"(?<=localhost:)\d{5}\b"), "12345"),
    (re.compile(r"(?<=localhost   )\d{5}\b"), "12345"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "2026-01-02T03:04:05Z"),
    (re.compile(r"(?<= )\ds (?= )"), "12s"),
    (re.compile(r"(?<= )\d\ds(?=$|[ ‹])|(?<= )\ds(?=$|[ ‹])", re.MULTILINE), "12s"),
    (re.compile(r"(?<=seen-workers)-[a-z0-9]{10}\b"), "-abcdefghij"),
)
COMMANDS = {
    "ps": ["ps", "-l", "app=seen"],
    "table": ["get", "exers,service.usvc-dev", "-l", "app=seen"],
    "diff": ["apply", "-f", "FILE", "--dry-run", "--diff", "--field-manager", "somebody", "--force-conflicts"],
    "describe": ["describe", "exe/seen-later"],
    "explain": ["explain", "exe.spec.watch"],
    "env": ["env", "seen-api"],
    "mistake": ["get", "exectuables"],
    "help": ["--help"],
}
# How wide, and with colours or without.
LOOKS = {
    "ps": ((80, "plain"), (80, "colour"), (140, "plain"), (140, "colour")),
    "table": ((80, "plain"), (140, "colour")),
    "describe": ((80, "plain"), (140, "colour")),
    "diff": ((80, "colour"),),
}


@pytest.fixture(scope="module")
def app(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """An app in all states that there are; the environment of those who look at it."""
    file = tmp_path_factory.mktemp("app") / "app.yaml"
    environ = {**served.environ, "TERM": "xterm-256color", "FILE": str(file)}

    def run(*arguments: str) -> None:
        subprocess.run([sys.executable, "-m", "setpoint", *arguments], env=environ, check=True, capture_output=True)

    file.write_text(APP.read_text().replace("PYTHON", sys.executable))
    run("apply", "-f", str(file))
    run("wait", "exe/seen-api", "exe/seen-web", "exers/seen-workers", "--timeout", "60s")
    run("wait", "exe/seen-broken", "--for", "jsonpath={.status.conditions[0].reason}=BackOff", "--timeout", "60s")
    is_told = (
        "jsonpath={.status.conditions[0].message}=waits for Executable seen-broken to be Succeeded: it is Starting"
    )
    run("wait", "exe/seen-later", "--for", is_told, "--timeout", "60s")
    file.write_text(file.read_text().replace("value: info", "value: debug").replace("geheim", "anders"))
    return environ


def seen(text: str) -> str:
    """What a terminal shows, as a text that is the same every time."""
    text = re.sub(r"\x1b\[0m", "‹›", text)
    text = re.sub(r"\x1b\[([\d;]+)m", r"‹\1›", text)
    assert "\x1b" not in text
    for pattern, mask in MASKS:
        text = pattern.sub(mask, text)
    # How often something was seen to wait is no matter of looks.
    return re.sub(r"\n\n(‹1›)?Events:.*", "\n", text.replace(sys.executable, "PYTHON"), flags=re.DOTALL)


def test_commands_look_as_they_did_when_they_were_looked_at(app: Mapping[str, str]) -> None:
    now, before = {}, {}
    for name, arguments in COMMANDS.items():
        words = [app["FILE"] if word == "FILE" else word for word in arguments]
        for columns, look in LOOKS.get(name, ((80, "plain"),)):
            environ = {**app, **({"NO_COLOR": "1"} if look == "plain" else {})}
            file = SNAPSHOTS / f"{name}-{columns}-{look}.txt"
            now[file.name] = seen(shown([sys.executable, "-m", "setpoint", *words], columns, environ))
            if os.environ.get("UPDATE_SNAPSHOTS"):
                file.write_text(now[file.name])
            before[file.name] = file.read_text()
    assert now == before


@pytest.mark.parametrize("columns", [80, 140])
def test_colours_repeat_what_the_text_says_and_take_no_room(columns: int) -> None:
    painted, plain = ((SNAPSHOTS / f"ps-{columns}-{look}.txt").read_text() for look in ("colour", "plain"))
    assert "‹31›BackOff‹›" in painted
    assert re.sub(r"‹[\d;]*›", "", painted) == plain
    assert max(map(len, plain.splitlines())) <= columns


def test_what_takes_long_says_what_it_waits_for_and_leaves_no_trace(app: Mapping[str, str]) -> None:
    command = [sys.executable, "-m", "setpoint", "wait", "exe/seen-later", "--timeout", "1500ms"]
    text = shown(command, 80, {**app, "NO_COLOR": "1"})
    during, _, after = text.rpartition("\r\x1b[K")
    assert "waiting for executable/seen-later to be ready (1s)" in during
    assert after.startswith("Error: not ready within 1.5 s:\n  executable/seen-later: Waiting: waits for")
    assert "\n" not in during
