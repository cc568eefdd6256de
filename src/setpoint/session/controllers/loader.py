"""Imports a file or module and finds its controllers, of all styles, and its kinds.

The import runs in a new process for each version, so that modules never need to be reloaded. Files in the same
directory can be imported by name. They are searched after Python's standard library and before installed packages, so
that a file named `queue.py` shadows no standard module.
"""

import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from setpoint.controller.controller import Controller
from setpoint.controller.declare import Declaration, controller_of, declaration_of
from setpoint.controller.project_code import is_own
from setpoint.schema.types.resource import Resource
from setpoint.session.controllers.faults import error_text

if TYPE_CHECKING:
    from setpoint.controller.webhook.admission import AdmissionWebhook  # most programs have no webhooks
    from setpoint.controller.webhook.conversion import ConversionWebhook

_DECLARED = "__controller__"
# Classes with a method that creates a controller, by module. Looked up only if the module is imported.
_WEBHOOKS = "setpoint.controller.webhook"
_MACHINES = {"setpoint.flow.fsm.fsm": "FSM", "setpoint.flow.claims.claims": "Claims"}


class LoadError(Exception):
    """Raised if a file cannot be loaded, with the reason and location."""


class Contents(NamedTuple):
    """The contents of a file."""

    controllers: list[Controller]
    # Notes about parts that are not run.
    notes: list[str]
    # The kinds of the file, and of the modules of the project that its import loaded.
    kinds: list[type[Resource]]
    # The webhooks of the file: those of admission, and those that convert between versions.
    webhooks: "list[AdmissionWebhook]"
    conversions: "list[ConversionWebhook]"


def load(module: str, directory: Path, name: str = "") -> Contents:
    """Imports a file (relative to the directory) or a module and creates its controllers; with `name`, only that one.
    Raises LoadError.
    """
    # Python considers bytecode current if the file has the same size and modification second: the next process would
    # run the code before an edit.
    sys.dont_write_bytecode = True
    before = set(sys.modules)
    try:
        found = (
            _import_file(directory / module, module) if module.endswith(".py") else _import_module(module, directory)
        )
    except LoadError:
        raise
    except BaseException as error:  # including SystemExit
        raise LoadError(error_text(error, directory)) from None
    controllers = _controllers(found, module, directory)
    if name:
        known = [each.name for each in controllers]
        controllers = [each for each in controllers if each.name == name]
        if not controllers:
            raise LoadError(f"{module} has no controller named {name!r}; available controllers: {', '.join(known)}")
    _check_names(controllers, module)
    webhooks, conversions = _webhooks(found)
    imported = [sys.modules[name] for name in list(sys.modules) if name not in before]
    kinds = _kinds([found, *(each for each in imported if each is not found)])
    return Contents(controllers, _notes(webhooks, found, module), kinds, webhooks, conversions)


# Importing


def _import_file(path: Path, named: str) -> ModuleType:
    if not path.is_file():
        raise LoadError(f"file {named} not found: correct the path, or restore the file")
    root, parts = path.parent, [path.stem]
    while (root / "__init__.py").is_file():
        root, parts = root.parent, [root.name, *parts]
    _search(root)
    name = ".".join(parts)
    if len(parts) > 1 and all(part.isidentifier() for part in parts):
        return importlib.import_module(name)
    if name in sys.modules or name in sys.stdlib_module_names:
        name = f"controllers_in_{name}"  # avoids replacing another module of this name
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _import_module(name: str, directory: Path) -> ModuleType:
    _search(directory)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise LoadError(f"no module {name} in {directory} or among the installed packages") from None
        raise


def _search(directory: Path) -> None:
    """Adds a directory to the search path: after the standard library, before installed packages."""
    text = str(directory)
    if text not in sys.path:
        installed = (index for index, path in enumerate(sys.path) if os.path.basename(path).endswith("-packages"))
        sys.path.insert(next(installed, len(sys.path)), text)


# Finding


def _controllers(module: ModuleType, shown: str, directory: Path) -> list[Controller]:
    found: dict[int, object] = {}
    for value in vars(module).values():
        if _is_controller(value):
            found[id(value)] = value
    values = list(found.values())
    # An instance takes precedence over its class, and the controller of a state machine over the machine.
    made_by = {type(value) for value in values}
    machines = {id(getattr(value, "fsm", None)) for value in values} | {
        id(getattr(value, "claims", None)) for value in values
    }
    chosen = [
        value for value in values if not (isinstance(value, type) and value in made_by) and id(value) not in machines
    ]
    if not chosen:
        raise LoadError(f"{shown} has no controller: declare one with @sp.controller(Kind)")
    made = [_made(value, shown, directory) for value in chosen]
    for each in made:
        # Waits without limit for kinds that are not served yet.
        each.options = replace(each.options, sync_timeout=None)
    return made


def _is_controller(value: object) -> bool:
    if isinstance(value, (Controller, *_machines())):
        return True
    if isinstance(value, type):  # a subclass of a controller class counts only if declared itself
        return isinstance(vars(value).get(_DECLARED), Declaration)
    return declaration_of(value) is not None


def _machines() -> tuple[type, ...]:
    return tuple(vars(sys.modules[module])[name] for module, name in _MACHINES.items() if module in sys.modules)


def _made(value: object, shown: str, directory: Path) -> Controller:
    """Creates the controller of a declaration. Raises LoadError."""
    try:
        if isinstance(value, type) and (needed := _needed(value)):
            raise LoadError(
                f"{shown}: {value.__name__} requires the arguments {', '.join(needed)}: create an instance in the "
                f"file, e.g. {value.__name__.lower()} = {value.__name__}(…)"
            )
        is_machine = isinstance(value, _machines())
        return controller_of(value.controller() if is_machine else value)  # type: ignore[attr-defined]
    except LoadError:
        raise
    except Exception as error:
        called = getattr(value, "__name__", None) or type(value).__name__
        raise LoadError(f"{shown}: {called}: {error_text(error, directory)}") from None


def _needed(cls: type) -> list[str]:
    """Returns the required arguments of a class."""
    if cls.__init__ is object.__init__:  # type: ignore[misc]
        return []
    every, keywords = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]  # type: ignore[misc]
    return [each.name for each in parameters if each.default is each.empty and each.kind not in (every, keywords)]


def _check_names(controllers: list[Controller], shown: str) -> None:
    names = [each.name for each in controllers]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise LoadError(
            f"{shown} has two controllers named {twice[0]!r}: rename one, e.g. @sp.controller(Kind, "
            f"name='{twice[0]}-2')"
        )


def _webhooks(module: ModuleType) -> "tuple[list[AdmissionWebhook], list[ConversionWebhook]]":
    """Returns the webhooks that a module defines or imports, each once."""
    if _WEBHOOKS not in sys.modules:
        return [], []
    from setpoint.controller.webhook.admission import AdmissionWebhook
    from setpoint.controller.webhook.conversion import ConversionWebhook

    values = list({id(value): value for value in vars(module).values()}.values())
    return (
        [value for value in values if isinstance(value, AdmissionWebhook)],
        [value for value in values if isinstance(value, ConversionWebhook)],
    )


def _notes(webhooks: "Sequence[AdmissionWebhook]", module: ModuleType, shown: str) -> list[str]:
    """Returns a note about webhooks, which are not served: a webhook under development would block all writes."""
    named = [name for name, value in vars(module).items() if any(value is webhook for webhook in webhooks)]
    if not named:
        return []
    return [f"{shown}: the webhooks {', '.join(named)} are not served here; use @sp.rule in the kind where possible"]


def _kinds(modules: Iterable[ModuleType]) -> list[type[Resource]]:
    """Returns the kinds that the project defines in these modules."""
    found: dict[type[Resource], None] = {}
    for module in modules:
        if not is_own(getattr(module, "__file__", None)):
            continue
        for value in list(vars(module).values()):
            if isinstance(value, type) and issubclass(value, Resource) and value.__module__ == module.__name__:
                config = value.__resource__
                if config.kind and "." in config.group and not config.group.endswith(".k8s.io"):
                    found[value] = None
    return list(found)
