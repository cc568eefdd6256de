"""Values of workloads that depend on other objects, e.g. `{{ portFor "db" }}` in an argument, a variable, or the URL of
a probe.

`render` returns the value, or raises `NotYet` with the missing objects, or `TemplateError` for an invalid template;
`references` returns the objects that a template needs, without a lookup. Neither does I/O: objects come from a
`Lookup`. Values from secrets are masked in `Rendered.shown`. `template_functions` has the list of functions. Text
without `{{` is returned unchanged.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from setpoint.objects.frozen import thaw
from setpoint.objects.goformat import format_v
from setpoint.objects.tree import Json, Object
from setpoint.workload.template_functions import FUNCTIONS, MASK, Lookup, Needed, NotYet, TemplateContext, service_name
from setpoint.workload.template_parser import Call, FieldNode, Literal, Operand, Pipeline, TemplateError, parse

__all__ = [
    "MASK",
    "Lookup",
    "Needed",
    "NotYet",
    "Rendered",
    "TemplateError",
    "TemplateReference",
    "escaped",
    "go_field",
    "references",
    "render",
]


class Rendered(NamedTuple):
    """A value, and its masked form."""

    text: str
    shown: str


class TemplateReference(NamedTuple):
    """An object that a template refers to, with the function and its further arguments."""

    function: str
    kind: str
    name: str
    arguments: tuple[str, ...] = ()


def render(text: str, subject: Object, lookup: Lookup) -> Rendered:
    """Returns the value of a template for its object. Raises TemplateError or NotYet."""
    if "{{" not in text:
        return Rendered(text, text)
    return _Rendering(text, subject, lookup).everything()


def escaped(text: str) -> str:
    """Returns a template whose value is the given text."""
    return text.replace("{{", '{{ "{{" }}')


def references(text: str) -> list[TemplateReference]:
    """Returns the objects that a template needs, without duplicates. Raises TemplateError."""
    if "{{" not in text:
        return []
    found = (reference for part in parse(text) if isinstance(part, Pipeline) for reference in _references(part))
    return list(dict.fromkeys(found))


def _references(operand: Operand) -> Iterator[TemplateReference]:
    if isinstance(operand, Pipeline):
        for command in operand.commands:
            yield from _references(command)
    elif isinstance(operand, Call):
        texts = tuple(str(each.value) for each in operand.arguments if isinstance(each, Literal))
        function = FUNCTIONS.get(operand.function)
        if function is not None and function.kind and len(texts) == len(operand.arguments) >= function.least:
            if function.kind == "*":
                yield TemplateReference(operand.function, texts[0], texts[1], texts[2:])
            else:
                name = service_name(texts[0]) if function.kind == "Service" else texts[0]
                yield TemplateReference(operand.function, function.kind, name, texts[1:])
        for argument in operand.arguments:
            yield from _references(argument)


class _Rendering(TemplateContext):
    """The rendering of one template."""

    def everything(self) -> Rendered:
        texts: list[str] = []
        shown: list[str] = []
        needs: list[Needed] = []
        for part in parse(self.text):
            if isinstance(part, str):
                texts.append(part)
                shown.append(part)
                continue
            self.is_secret = False
            try:
                value = _printed(self._value(part))
            except NotYet as waiting:
                needs += waiting.needs
                continue
            texts.append(value)
            shown.append(MASK if self.is_secret else value)
        if needs:
            raise NotYet(needs)
        return Rendered("".join(texts), "".join(shown))

    def _value(self, operand: Operand) -> Json:
        if isinstance(operand, Literal):
            return operand.value
        if isinstance(operand, FieldNode):
            return self._field(operand)
        if isinstance(operand, Call):
            return self._call(operand, [])
        piped: list[Json] = []
        for command in operand.commands:
            piped = [self._call(command, piped) if isinstance(command, Call) else self._value(command)]
        return piped[0]

    def _call(self, call: Call, piped: list[Json]) -> Json:
        function = FUNCTIONS.get(call.function)
        if function is None:
            known = ", ".join(sorted(FUNCTIONS))
            raise self.error(f"unknown function {call.function}; available: {known}", call.at)
        arguments = [self._value(each) for each in call.arguments] + piped
        if not function.least <= len(arguments) <= function.most:
            raise self.error(f"wrong number of arguments for {call.function}; usage: {function.usage}", call.at)
        return function.body(self, call, arguments)

    def _field(self, field: FieldNode) -> Json:
        if not field.names:
            return thaw(self.subject)
        try:
            return go_field(self.subject, field.names)
        except LookupError as error:
            raise self.error(str(error.args[0]), field.at) from None


def go_field(tree: Object, names: tuple[str, ...]) -> Json:
    """Returns a field by its name in Go, e.g. `Spec.ExecutablePath` or `Name`. An absent field is empty; raises
    LookupError if the kind has no such field."""
    from setpoint.workload.kinds.all import KINDS  # imported late, because few templates use fields

    rest = list(names)
    if rest[0] in ("ObjectMeta", "TypeMeta"):
        rest.pop(0)
    top = rest[0].casefold() if rest else ""
    if not rest:
        return thaw(tree.get("metadata", {})) if names[0] == "ObjectMeta" else {}
    if top not in ("spec", "status", "apiversion", "kind", "metadata"):
        rest.insert(0, "metadata")
    model: Any = next((kind for kind in KINDS if kind.gvk().kind == tree.get("kind")), None)
    here: Any = tree
    for name in rest:
        fields = {key.casefold(): key for key in here} if isinstance(here, dict) else {}
        model, known = _inner(model, name)
        if name.casefold() in fields:
            here = here[fields[name.casefold()]]
        elif known and (here == "" or isinstance(here, dict)):
            here = ""
        else:
            raise LookupError(f"no field .{'.'.join(names)} in kind {tree.get('kind', 'object')}")
    return thaw(here)


def _inner(model: Any, name: str) -> tuple[Any, bool]:
    """Returns the type of a field of a model, and True if the field can exist. Without a model any field can."""
    if model is None:
        return None, True
    if name.casefold() in ("apiversion", "kind"):
        return None, True
    for field in msgspec.structs.fields(model):
        if field.encode_name.casefold() == name.casefold():
            return _model_in(field.type), True
    return None, False


def _model_in(annotation: Any) -> Any:
    """Returns the model in an annotation, or None."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return annotation
    for inner in getattr(annotation, "__args__", ())[:2]:
        if getattr(annotation, "__origin__", None) not in (list, dict) and (found := _model_in(inner)) is not None:
            return found
    return None


def _printed(value: Json) -> str:
    return "" if value is None else format_v(value)
