"""Imports a file or module of controllers, and finds what is in it: controllers of every style, and kinds.

This runs in a process of its own, which imports nothing twice: what changed is loaded by the next process. Neighbours
of the file can be imported by their names. They come after Python's own modules and before installed ones, so that a
file named `queue.py` breaks nothing.
"""

import importlib
import importlib.util
import inspect
import os
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from setpoint.controller.controller import Controller
from setpoint.controller.declare import Declaration, controller_of, declaration_of
from setpoint.schema.types.resource import Resource
from setpoint.session.controllers.faults import is_own, told

_DECLARED = "__controller__"
# What has a controller made of it, by the modules that are there where somebody uses one.
_WEBHOOKS = "setpoint.controller.webhook"
_MACHINES = {"setpoint.flow.fsm.fsm": "FSM", "setpoint.flow.claims.claims": "Claims"}


class LoadError(Exception):
    """A file of controllers that cannot be run; says why, and where."""


class Contents(NamedTuple):
    """What was found in a file."""

    controllers: list[Controller]
    # What in it is not run.
    notes: list[str]
    # Those of the whole project, as far as it was imported.
    kinds: list[type[Resource]]


def load(module: str, directory: Path, name: str = "") -> Contents:
    """Imports a file (relative to the directory) or a module, and makes its controllers; with a name, only that one.
    Raises LoadError."""
    # Python takes compiled code for current if the file has the same size and was changed in the same second: the next
    # process would run the code before an edit.
    sys.dont_write_bytecode = True
    try:
        found = (
            _import_file(directory / module, module) if module.endswith(".py") else _import_module(module, directory)
        )
    except LoadError:
        raise
    except BaseException as error:  # whatever somebody's code raises, SystemExit too
        raise LoadError(told(error, directory)) from None
    controllers = _controllers(found, module, directory)
    if name:
        known = [each.name for each in controllers]
        controllers = [each for each in controllers if each.name == name]
        if not controllers:
            raise LoadError(f"{module} has no controller named {name!r}; it has {', '.join(known)}")
    _check_names(controllers, module)
    return Contents(controllers, _notes(found, module), _kinds())


# Importing


def _import_file(path: Path, named: str) -> ModuleType:
    if not path.is_file():
        raise LoadError(f"there is no file {named}: name the one that is there instead, or bring it back")
    root, parts = path.parent, [path.stem]
    while (root / "__init__.py").is_file():
        root, parts = root.parent, [root.name, *parts]
    _search(root)
    name = ".".join(parts)
    if len(parts) > 1 and all(part.isidentifier() for part in parts):
        return importlib.import_module(name)
    if name in sys.modules or name in sys.stdlib_module_names:
        name = f"controllers_in_{name}"  # what else has this name stays what it is
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
            raise LoadError(f"there is no module {name}, neither in {directory} nor installed") from None
        raise


def _search(directory: Path) -> None:
    """Has modules of a directory found: after Python's own, before installed ones."""
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
    # An object of a class stands for the class, and the controller of a machine for the machine.
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
        # A kind that is not there yet is waited for, for as long as it takes.
        each.options = replace(each.options, sync_timeout=None)
    return made


def _is_controller(value: object) -> bool:
    if isinstance(value, (Controller, *_machines())):
        return True
    if isinstance(value, type):  # of a class that derives from a controller, only if it says so itself
        return isinstance(vars(value).get(_DECLARED), Declaration)
    return declaration_of(value) is not None


def _machines() -> tuple[type, ...]:
    return tuple(vars(sys.modules[module])[name] for module, name in _MACHINES.items() if module in sys.modules)


def _made(value: object, shown: str, directory: Path) -> Controller:
    """The controller of what was declared. Raises LoadError."""
    try:
        if isinstance(value, type) and (needed := _needed(value)):
            raise LoadError(
                f"{shown}: {value.__name__} cannot be made without {', '.join(needed)}: put an object of it into the "
                f"file, such as {value.__name__.lower()} = {value.__name__}(…)"
            )
        is_machine = isinstance(value, _machines())
        return controller_of(value.controller() if is_machine else value)  # type: ignore[attr-defined]
    except LoadError:
        raise
    except Exception as error:
        called = getattr(value, "__name__", None) or type(value).__name__
        raise LoadError(f"{shown}: {called}: {told(error, directory)}") from None


def _needed(cls: type) -> list[str]:
    """The arguments that an object of a class cannot be made without."""
    if cls.__init__ is object.__init__:  # type: ignore[misc]
        return []
    every, keywords = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]  # type: ignore[misc]
    return [each.name for each in parameters if each.default is each.empty and each.kind not in (every, keywords)]


def _check_names(controllers: list[Controller], shown: str) -> None:
    names = [each.name for each in controllers]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise LoadError(
            f"{shown} has two controllers named {twice[0]!r}: give one of them another name, "
            f"such as @sp.controller(Kind, name='{twice[0]}-2')"
        )


def _notes(module: ModuleType, shown: str) -> list[str]:
    """Webhooks stand between a server and everybody who writes: who works on them should not stop all others."""
    webhooks = sys.modules.get(_WEBHOOKS)
    named = [name for name, value in vars(module).items() if webhooks and isinstance(value, webhooks.AdmissionWebhook)]
    if not named:
        return []
    return [f"{shown}: the webhooks {', '.join(named)} are not served here; what @sp.rule can say belongs to the kind"]


def _kinds() -> list[type[Resource]]:
    """The kinds that the project defines."""
    found: dict[type[Resource], None] = {}
    for module in list(sys.modules.values()):
        if not is_own(getattr(module, "__file__", None)):
            continue
        for value in list(vars(module).values()):
            if isinstance(value, type) and issubclass(value, Resource) and value.__module__ == module.__name__:
                config = value.__resource__
                if config.kind and "." in config.group and not config.group.endswith(".k8s.io"):
                    found[value] = None
    return list(found)
