"""How much a command takes before it does anything: modules that are imported, which every machine counts the same.
What it takes when it does something is in `test_quick`."""

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from setpoint.cli.main import SECTIONS, main
from setpoint.session.registry import Session, Sessions, process_identity

# What the interpreter, click and the standard library bring; a command adds what it needs, and no more.
HELP_MODULES = 20
HEAVY = (
    "setpoint.server",
    "setpoint.store",
    "setpoint.controller",
    "setpoint.cache",
    "setpoint.plane",
    "setpoint.flow",
)


def modules(code: str) -> set[str]:
    program = f"{code}\nimport sys; print(chr(10).join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def commands() -> list[str]:
    return main.list_commands(click.Context(main))


def test_help_on_all_commands_imports_none_of_them() -> None:
    base = modules("import click.core, click.shell_completion, difflib, gettext, locale")
    code = "from setpoint.cli.main import main\nmain(['--help'], standalone_mode=False)"
    added = {name for name in modules(code) - base if name.startswith("setpoint") or "." not in name}
    assert len([name for name in added if name.startswith("setpoint")]) < HELP_MODULES
    assert not {"asyncio", "msgspec", "yaml", "ssl"} & added


@pytest.mark.parametrize("name", ["get", "apply", "delete", "ps", "logs", "wait", "describe", "doctor", "env", "edit"])
def test_a_command_that_only_explains_itself_needs_no_client(name: str) -> None:
    found = modules(f"from setpoint.cli.main import main\nmain([{name!r}, '--help'], standalone_mode=False)")
    assert not [each for each in found if each.startswith(HEAVY)]
    assert "setpoint.client.client" not in found


def test_what_is_said_of_each_command_is_what_it_says_itself() -> None:
    """The list of commands repeats the first sentence of each, so that it need not import them."""
    for name, entry in (pair for section in SECTIONS.values() for pair in section.items()):
        command = main.get_command(click.Context(main), name)
        assert command is not None
        assert command.name == name
        sentence = re.split(r"(?<=\.)\s|:", " ".join((command.help or "").split()))[0].rstrip(".")
        assert entry.summary.rstrip(".").split()[0] == sentence.split()[0], name
        assert len(entry.summary) < 62, name


def test_every_command_explains_each_of_its_options() -> None:
    for name in commands():
        command = main.get_command(click.Context(main), name)
        assert command is not None
        assert command.help, name
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.opts}"


def test_a_command_that_is_mistyped_is_suggested() -> None:
    done = subprocess.run([sys.executable, "-m", "setpoint", "descrbe"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "unknown command 'descrbe'. Did you mean describe?" in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_command_does_its_work_where_an_output_is_closed(closed: str, tmp_path: Path) -> None:
    environ = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    Sessions.of(environ).add(Session("shop", str(tmp_path), process_identity(), "kc", "https://127.0.0.1:1"))
    done = subprocess.run(["sh", "-c", f'"$0" -m setpoint sessions {closed}', sys.executable], env=environ)
    assert done.returncode == 0
