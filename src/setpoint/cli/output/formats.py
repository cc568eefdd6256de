"""The option `-o`: prints objects as JSON, YAML, names, by JSONPath, in custom columns, or as a table by default."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import click

from setpoint.cli.output.terminal import echo, terminal
from setpoint.objects.tree import Json, Object

_WITH_ARGUMENT = ("jsonpath", "custom-columns")
FORMS = ("json", "yaml", "name", "wide", *_WITH_ARGUMENT)


class Form(NamedTuple):
    """An output format. The empty name is the default, human-readable format."""

    name: str = ""
    argument: str = ""

    @property
    def is_table(self) -> bool:
        return self.name in ("", "wide")


class _FormType(click.ParamType[Form]):
    name = "form"

    def __init__(self, allowed: Sequence[str]) -> None:
        self._allowed = allowed

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Form:
        if isinstance(value, Form):
            return value
        name, has_argument, argument = value.partition("=")
        if name not in self._allowed:
            self.fail(f"unknown output format {value!r}; available formats: {', '.join(self._allowed)}", param, ctx)
        if (name in _WITH_ARGUMENT) != bool(has_argument and argument):
            example = {
                "jsonpath": "jsonpath='{.metadata.name}'",
                "custom-columns": "custom-columns=NAME:.metadata.name",
            }
            self.fail(
                (f"an argument is required, e.g. {example[name]}") if name in example else f"{name} takes no argument",
                param,
                ctx,
            )
        return Form(name, argument)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        shown = [f"{name}=" if name in _WITH_ARGUMENT else name for name in self._allowed]
        return [CompletionItem(name) for name in shown if name.startswith(incomplete)]


def output_option(*allowed: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds the option `-o` as the argument `form`."""
    names = allowed or FORMS
    return click.option(
        "-o",
        "--output",
        "form",
        type=_FormType(names),
        default=Form(),
        metavar="FORMAT",
        show_default=False,
        help=f"Output format: {', '.join(f'{name}=…' if name in _WITH_ARGUMENT else name for name in names)}.",
    )


def write_objects(objects: Sequence[Object], form: Form, *, as_list: bool, managed_fields: bool = False) -> None:
    """Prints objects in a format other than a table. With `as_list`, wraps them in a List."""
    shown = list(objects) if managed_fields else [without_managed_fields(each) for each in objects]
    if form.name == "name":
        for each in shown:
            echo(name_of(each))
        return
    if form.name == "custom-columns":
        write_columns(shown, form.argument)
        return
    tree: Json = {"apiVersion": "v1", "kind": "List", "items": shown, "metadata": {"resourceVersion": ""}}
    write_tree(tree if as_list else shown[0], form)


def write_tree(tree: Json, form: Form) -> None:
    """Prints a value as JSON, YAML or by JSONPath."""
    if form.name == "json":
        echo(json_text(tree))
    elif form.name == "yaml":
        from setpoint.objects import yamltext

        echo(yamltext.dump(tree), nl=False)
    else:
        from setpoint.cli.output.template import TemplateError, compile_template
        from setpoint.cli.support.errors import Failure

        try:
            echo(compile_template(form.argument)(tree))
        except TemplateError as error:
            raise Failure(f"-o jsonpath: {error}") from None


def json_text(tree: Json) -> str:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(tree), indent=4).decode()


def write_columns(objects: Iterable[Object], columns: str) -> None:
    """Prints the columns `NAME:PATH,…` of each object."""
    from setpoint.cli.output.table import render
    from setpoint.cli.output.template import TemplateError, compile_template
    from setpoint.cli.support.errors import USAGE, Failure

    headers, paths = [], []
    for column in _columns(columns):
        header, colon, path = column.partition(":")
        if not colon or not header or not path:
            raise Failure(
                f"-o custom-columns: invalid column {column!r}: expected NAME:PATH, e.g. NAME:.metadata.name", USAGE
            )
        try:
            headers.append(header)
            paths.append(compile_template(path))
        except TemplateError as error:
            raise Failure(f"-o custom-columns: {column}: {error}", USAGE) from None
    rows = [[_value(path, each) for path in paths] for each in objects]
    place = terminal()
    for line in render(headers, rows, place, fit=False):
        place.echo(line)


def _columns(text: str) -> list[str]:
    """Splits the columns. Commas in brackets belong to a path."""
    return [each for each in re.split(r",(?![^\[]*\])", text) if each]


def _value(path: Callable[[Json], str], tree: Object) -> str:
    from setpoint.cli.output.template import TemplateError

    try:
        return path(tree) or "<none>"
    except TemplateError:
        return "<none>"


def name_of(tree: Object) -> str:
    """Returns kind and name of an object as commands accept them: `deployment.apps/web`."""
    group = tree["apiVersion"].rpartition("/")[0]
    kind = tree["kind"].lower()
    return f"{kind}.{group}/{tree['metadata']['name']}" if group else f"{kind}/{tree['metadata']['name']}"


def without_managed_fields(tree: Object) -> Object:
    """Returns the object without managed fields."""
    metadata = tree.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return tree
    return {**tree, "metadata": {name: metadata[name] for name in metadata if name != "managedFields"}}
