"""Writes the generated half of the page about the commands anew: what each is for, and its options, as click has them.

What stands above the mark on the page is written by hand, and stays.
"""

import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click

from setpoint.cli.main import SECTIONS, main
from setpoint.cli.support.connection import server_options

PAGE = Path(__file__).parent.parent / "docs" / "commands.md"
MARK = "<!-- From here on the page is written by `python -m tools.commands_page`. -->\n"
# Its options are what the page about the configuration is about.
ELSEWHERE = {"serve": "Its options are on the page about the [configuration](configuration.md)."}


def written(page: str) -> str:
    """The page with its second half made anew."""
    return page.partition(MARK)[0] + MARK + "\n" + "\n".join(_lines())


def _lines() -> Iterator[str]:
    context = click.Context(main, info_name="setpoint")
    for section, entries in SECTIONS.items():
        yield f"## {section}\n"
        for name in entries:
            command = main.get_command(context, name)
            assert command is not None
            yield from _command(command, click.Context(command, info_name=name, parent=context))
    yield "## Options that say which server\n"
    yield "Every command that asks a server has them; they may stand before the command as well.\n"
    yield from _options(_server_options(), context)


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"### setpoint {context.info_name}\n"
    usage = command.get_usage(context).removeprefix("Usage: ")
    yield f"```text\n{' '.join(usage.split())}\n```\n"
    yield from _help(command.help or "")
    if context.info_name in ELSEWHERE:
        yield f"{ELSEWHERE[str(context.info_name)]}\n"
        return
    shared = {each.name for each in _server_options()}
    yield from _options([each for each in command.params if each.name not in shared], context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                yield from _command(below, click.Context(below, info_name=f"{context.info_name} {name}"))


def _help(text: str) -> Iterator[str]:
    """Paragraphs as text; those that click must not wrap, as they stand."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b\n"):
            yield f"```sh\n{textwrap.dedent(paragraph[2:]).rstrip()}\n```\n"
        else:
            yield " ".join(paragraph.split()) + "\n"


def _options(parameters: list[click.Parameter], context: click.Context) -> Iterator[str]:
    records = [each.get_help_record(context) for each in parameters if isinstance(each, click.Option)]
    lines = [f"- `{record[0]}`: {' '.join(record[1].split())}" for record in records if record is not None]
    if lines:
        yield "\n".join(lines) + "\n"


def _server_options() -> list[click.Parameter]:
    return click.command()(server_options(lambda: None)).params


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
