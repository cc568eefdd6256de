"""`setpoint models`: generates Python classes from CustomResourceDefinitions."""

import sys
from pathlib import Path
from typing import Any

import click

from setpoint.cli.output.terminal import echo
from setpoint.cli.support.errors import Failure
from setpoint.objects import yamltext
from setpoint.objects.errors import APIError
from setpoint.objects.tree import Object
from setpoint.schema.types import ModelError
from setpoint.schema.types.model_source import models as source_of

_KIND = "CustomResourceDefinition"
# All definitions of a large operator may be in one file.
_MOST_BYTES = 64 << 20


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("-o", "--output", metavar="FILE", help="Write to a file instead of standard output.")
def models(files: tuple[str, ...], output: str | None) -> None:
    """Print Python classes for the CustomResourceDefinitions in YAML or JSON files.

    Use - for standard input; other kinds are ignored. `setpoint crd` generates the same definitions from the classes
    again; features that a class cannot express are reported.
    """
    definitions = [definition for file in files for definition in _definitions(file)]
    if not definitions:
        raise Failure(f"no {_KIND} found in {', '.join(files)}")
    try:
        module = source_of(definitions)
    except ModelError as error:
        raise Failure(str(error)) from None
    for text in module.left_out:
        echo(f"not supported: {text}", err=True)
    if output is None:
        echo(module.source, nl=False)
        return
    try:
        Path(output).write_text(module.source, encoding="utf-8")
    except OSError as error:
        raise Failure(f"cannot write {output}: {error.strerror}") from None


def _definitions(file: str) -> list[Object]:
    """Returns the definitions in a file, including those in lists."""
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise Failure(f"cannot read {file}: {error.strerror}") from None
    try:
        documents = [document.tree for document in yamltext.load_all(data, _MOST_BYTES)]
    except APIError as error:
        raise Failure(f"{file}: {error.message}") from None
    items = [item for document in documents for item in _items(document)]
    return [item for item in items if isinstance(item, dict) and item.get("kind") == _KIND]


def _items(document: Any) -> list[Any]:
    is_list = isinstance(document, dict) and isinstance(document.get("items"), list)
    return list(document["items"]) if is_list else [document]
