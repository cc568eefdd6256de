"""The functions that a template calls, found without executing the template."""

from collections.abc import Collection, Iterator

from setpoint.gotemplate.builtins import BUILTINS
from setpoint.gotemplate.nodes import Branch, Call, Chain, Invocation, Operand, Part, Pipeline, Template, TemplateError


def check_calls(text: str, template: Template, known: Collection[str]) -> None:
    """Checks that all functions and defined templates exist. Raises TemplateError with their place and the available
    functions."""
    bodies = (template.parts, *template.defined.values())
    for part in (part for body in bodies for part in body):
        for found in _of_part(part):
            if isinstance(found, Invocation):
                if found.name not in template.defined:
                    raise TemplateError(f"template {found.name} is not defined", text, found.at)
            elif found.function not in known and found.function not in BUILTINS:
                available = ", ".join(sorted({*BUILTINS, *known}))
                raise TemplateError(f"unknown function {found.function}; available: {available}", text, found.at)


def _of_part(part: Part) -> Iterator[Call | Invocation]:
    match part:
        case Pipeline():
            yield from _of_operand(part)
        case Branch():
            yield from _of_operand(part.pipeline)
            for inner in (*part.body, *part.otherwise):
                yield from _of_part(inner)
        case Invocation():
            yield part
            if part.pipeline is not None:
                yield from _of_operand(part.pipeline)
        case _:
            return


def _of_operand(operand: Operand) -> Iterator[Call]:
    match operand:
        case Pipeline():
            for command in operand.commands:
                yield from _of_operand(command)
        case Chain():
            yield from _of_operand(operand.operand)
        case Call():
            yield operand
            for argument in operand.arguments:
                yield from _of_operand(argument)
        case _:
            return
