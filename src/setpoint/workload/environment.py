"""The environment of a workload: inherited variables, variables of files, and variables of the spec; later ones win.

Inherited variables are never rendered as templates. Variables of files are rendered for Executables, as in DCP, and
those of the spec always. Names that begin with `DEBUG_SESSION` or `DCP_` are for the IDE and the control plane, and are
removed from the environment of an Executable, which inherits them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from setpoint.objects.tree import Object
from setpoint.workload.dotenv import DotenvError, parse
from setpoint.workload.templates import Lookup, Needed, NotYet, Rendered, TemplateError, render

# Receives the reason why a value is used as is, or why the files of variables are not used.
Tolerate: TypeAlias = Callable[[str], None]

_OURS = ("DEBUG_SESSION", "DCP_")
# Marks the processes of a workload; an inherited value belongs to an outer control plane.
_COOKIE = "SETPOINT_WORKLOAD"


class EnvironmentProblem(ValueError):  # noqa: N818 - becomes the reason and message of a condition
    """An environment is invalid. `reason` is the reason of a condition; the message has the remedy."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


class Environment(NamedTuple):
    """The variables with their values, their masked values, and the names that the spec and its files set."""

    values: dict[str, str]
    shown: dict[str, str]
    explicit: frozenset[str]

    def to_json(self) -> list[Object]:
        """Returns the entries of `status.effectiveEnv`."""
        return [{"name": name, "value": self.shown[name]} for name in sorted(self.shown)]


def environment(
    tree: Object,
    *,
    ambient: Mapping[str, str],
    read: Callable[[str], bytes],
    lookup: Lookup,
    context: Object | None = None,
    ignores_case: bool = False,
    tolerate: Tolerate | None = None,
) -> Environment:
    """Returns the environment of an Executable, Container or ContainerExec.

    `ambient` is the inherited environment, or empty. `read` returns the contents of a file. `context` is the object for
    templates, if another one. With `tolerate`, as in DCP, an invalid template is the text itself, and the files of an
    Executable are not used if one of them is invalid. Raises EnvironmentProblem, or NotYet with all missing values.
    """
    same = str.upper if ignores_case else str
    merged: dict[str, tuple[str, Rendered]] = {
        same(name): (name, Rendered(value, value)) for name, value in ambient.items() if name != _COOKIE
    }
    declared = list(_declared(tree, ambient, read, tolerate))
    templates = _templated(tree)
    values = _rendered(
        [(f"variable {name} of {source}", value, source in templates) for name, value, source in declared],
        tree if context is None else context,
        lookup,
        tolerate,
    )
    for (name, _, _), rendered in zip(declared, values, strict=True):
        merged[same(name)] = name, rendered
    removed = _OURS if tree.get("kind") == "Executable" else ()
    kept = {name: rendered for name, rendered in merged.values() if not name.upper().startswith(removed)}
    # In DCP the engine reads the files of a container, and its status does not show them.
    hides_files = tolerate is not None and tree.get("kind") == "Container"
    hidden = {name for name, _, source in declared if hides_files and source == _FILES}
    hidden -= {name for name, _, source in declared if source == _SPEC}
    return Environment(
        {name: rendered.text for name, rendered in kept.items()},
        {name: rendered.shown for name, rendered in kept.items() if name not in hidden},
        frozenset({name for name, _, _ in declared} & kept.keys()),
    )


def arguments(args: Sequence[str], subject: Object, lookup: Lookup, tolerate: Tolerate | None = None) -> list[Rendered]:
    """Returns the rendered arguments of a workload. Raises EnvironmentProblem, or NotYet with all missing values."""
    named = [(f"spec.args[{index}]", text, True) for index, text in enumerate(args)]
    return _rendered(named, subject, lookup, tolerate)


def _rendered(
    values: Iterable[tuple[str, str, bool]], subject: Object, lookup: Lookup, tolerate: Tolerate | None
) -> list[Rendered]:
    """Renders values, given as their label, text, and True for templates."""
    found: list[Rendered] = []
    needs: list[Needed] = []
    for what, text, is_template in values:
        try:
            rendered = render(text, subject, lookup) if is_template else Rendered(text, text)
        except NotYet as waiting:
            needs += waiting.needs
            continue
        except TemplateError as error:
            if tolerate is None:
                raise EnvironmentProblem("InvalidTemplate", f"{what}: {error}") from None
            tolerate(f"{what} is used as is, because the text is no valid template: {error}")
            rendered = Rendered(text, text)
        if "\0" in rendered.text:
            raise EnvironmentProblem("InvalidValue", f"{what} contains a NUL character, which is not allowed")
        found.append(rendered)
    if needs:
        raise NotYet(needs)
    return found


_SPEC, _FILES = "spec.env", "spec.envFiles"


def _templated(tree: Object) -> tuple[str, ...]:
    return (_SPEC, _FILES) if tree.get("kind") == "Executable" else (_SPEC,)


def _declared(
    tree: Object, ambient: Mapping[str, str], read: Callable[[str], bytes], tolerate: Tolerate | None
) -> Iterable[tuple[str, str, str]]:
    """Yields the names and values of the object, with their source."""
    spec = tree.get("spec", {})
    try:
        of_files = file_variables(spec.get("envFiles") or (), ambient, read)
    except EnvironmentProblem as problem:
        if tolerate is None or tree.get("kind") != "Executable":
            raise
        tolerate(f"the variables of spec.envFiles are not used: {problem}")
        of_files = {}
    for name, value in of_files.items():
        yield name, value, _FILES
    for each in spec.get("env") or ():
        yield each["name"], each.get("value", ""), _SPEC


def file_variables(paths: Iterable[str], ambient: Mapping[str, str], read: Callable[[str], bytes]) -> dict[str, str]:
    """Returns the variables of files; later files win. Raises EnvironmentProblem."""
    found: dict[str, str] = {}
    for path in paths:
        try:
            text = read(path).decode()
        except FileNotFoundError:
            message = f"environment file {path} does not exist; create the file, or remove it from spec.envFiles"
            raise EnvironmentProblem("EnvFileNotFound", message) from None
        except UnicodeDecodeError:
            raise EnvironmentProblem("EnvFileInvalid", f"environment file {path} is not UTF-8 text") from None
        except OSError as error:
            message = f"environment file {path} cannot be read: {error.strerror or error}; check its permissions"
            raise EnvironmentProblem("EnvFileUnreadable", message) from None
        try:
            found |= parse(text, {**ambient, **found})
        except DotenvError as error:
            raise EnvironmentProblem("EnvFileInvalid", f"environment file {path}, {error}") from None
    return found
