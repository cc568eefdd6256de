"""Values of workloads that depend on other objects, e.g. `{{ portFor "db" }}` in an argument, a variable, or the URL of
a probe.

`render` returns the value, or raises `NotYet` with the missing objects, or `TemplateError` for an invalid template;
`references` returns the objects that a template needs, without a lookup. Neither does I/O: objects come from a
`Lookup`. Values from secrets are masked in `Rendered.shown`. `template_functions` has the list of functions. Text
without `{{` is returned unchanged.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from setpoint.gotemplate.execution import ABSENT, MASK, Execution, Rendered
from setpoint.gotemplate.nodes import (
    Branch,
    Call,
    Chain,
    Invocation,
    Literal,
    Operand,
    Part,
    Pipeline,
    TemplateError,
)
from setpoint.gotemplate.parser import parse
from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Json, Object
from setpoint.workload.template_functions import FUNCTIONS, Lookup, Needed, NotYet, TemplateContext, service_name

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
    functions = _Functions(text, subject, lookup)
    return Execution(text, parse(text), functions, whole=partial(thaw, subject)).run()


def escaped(text: str) -> str:
    """Returns a template whose value is the given text."""
    return text.replace("{{", '{{ "{{" }}')


def references(text: str, *, certain: bool = False) -> list[TemplateReference]:
    """Returns the objects that a template refers to, without duplicates; with `certain`, only those that every
    execution needs. Raises TemplateError."""
    if "{{" not in text:
        return []
    template = parse(text)
    bodies = () if certain else tuple(template.defined.values())
    parts = (*template.parts, *(part for body in bodies for part in body))
    return list(dict.fromkeys(reference for part in parts for reference in _of_part(part, certain)))


def _of_part(part: Part, certain: bool) -> Iterator[TemplateReference]:
    match part:
        case Pipeline():
            yield from _references(part)
        case Branch():
            yield from _references(part.pipeline)
            for inner in () if certain else (*part.body, *part.otherwise):
                yield from _of_part(inner, certain)
        case Invocation() if part.pipeline is not None:
            yield from _references(part.pipeline)
        case _:
            return


def _references(operand: Operand) -> Iterator[TemplateReference]:
    if isinstance(operand, Pipeline):
        for command in operand.commands:
            yield from _references(command)
    elif isinstance(operand, Chain):
        yield from _references(operand.operand)
    elif isinstance(operand, Call):
        values = [each.value for each in operand.arguments if isinstance(each, Literal)]
        texts = tuple(each for each in values if isinstance(each, str))
        function = FUNCTIONS.get(operand.function)
        if function is not None and function.kind and len(texts) == len(operand.arguments) >= function.least:
            if function.kind == "*":
                yield TemplateReference(operand.function, texts[0], texts[1], texts[2:])
            else:
                name = service_name(texts[0]) if function.kind == "Service" else texts[0]
                yield TemplateReference(operand.function, function.kind, name, texts[1:])
        for argument in operand.arguments:
            yield from _references(argument)


class _Functions(TemplateContext):
    """The functions and fields of one template."""

    def has(self, name: str) -> bool:
        return name in FUNCTIONS

    def known(self) -> Sequence[str]:
        return list(FUNCTIONS)

    def call(self, call: Call, arguments: list[Json]) -> Json:
        function = FUNCTIONS[call.function]
        if not function.least <= len(arguments) <= function.most:
            raise self.error(f"wrong number of arguments for {call.function}; usage: {function.usage}", call.at)
        return function.body(self, call, arguments)

    def entry(self, tree: dict[str, Json], name: str) -> Any:
        if name in tree:
            return tree[name]
        # The name of a field in Go, whose JSON name begins with a lower-case letter; an absent field is empty.
        found = next((key for key in tree if key.casefold() == name.casefold()), None)
        return tree[found] if found is not None else "" if name[:1].isupper() else ABSENT

    def root_field(self, names: tuple[str, ...], at: int) -> Json:
        try:
            return go_field(self.subject, names)
        except LookupError as error:
            raise self.error(str(error.args[0]), at) from None


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
