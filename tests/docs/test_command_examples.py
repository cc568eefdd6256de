"""The examples in the help of the commands, which the page about them shows, are such that the commands take them."""

import re
import shlex
from pathlib import Path

import click
import pytest
from tests.docs.pages import DOCS, blocks

from setpoint.cli.main import main

_SUBSTITUTION = re.compile(r"\$\([^()]*\)")
# A command that is part of others: behind a pipe, in a substitution, before a redirection.
_ENDS = re.compile(r"\s(?:\||>>?|&&|;|#)(?=\s)")
EXAMPLES = sorted(
    {
        line.strip()
        for block in blocks(DOCS / "commands.md")
        if block.kind == "sh"
        for line in block.body.splitlines()
        if line.strip().startswith("setpoint ")
    }
)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_one_that_its_command_takes(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = shlex.split(_ENDS.split(_SUBSTITUTION.sub("some", example), 1)[0])
    for word in words:
        if re.search(r"\.(yaml|yml|json|py|setpoint|txt)$", word):
            Path(word).parent.mkdir(parents=True, exist_ok=True)
            Path(word).touch()
    command: click.Command = main
    context = click.Context(main, info_name="setpoint")
    arguments = words[1:]
    while isinstance(command, click.Group) and (arguments or not command.invoke_without_command):
        name, found, arguments = command.resolve_command(context, arguments)
        assert found is not None
        command, context = found, click.Context(found, info_name=name, parent=context)
    # Raises if an option is unknown, a value is none, or something is missing.
    command.make_context(context.info_name, arguments, parent=context.parent)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) > 20
