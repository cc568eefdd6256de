"""Writes docs/options.md: every option of controllers, managers, caches, clients and flows, from the code.

An option is a field of a class, or a keyword of a function or constructor. Its description is the comment above it. A
test checks that the page is current, and that every option has a description.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "options.md"
_SOURCE = ROOT / "src" / "setpoint"
_HEAD = """# Options

Every option of controllers, managers, caches, clients and flows, as the code declares it. `python -m
tools.options_page` writes this page.
"""


class Section(NamedTuple):
    """A part of the page: the options of one class or function."""

    title: str
    introduction: str
    file: str
    # The name of a class with fields, of a class with a constructor, or of a function.
    name: str


SECTIONS = (
    Section(
        "Controllers",
        "Keywords of `@sp.controller(Kind, …)` and `sp.Controller(…)`; also of `Chain`, `generates`, "
        "`fsm.controller()` and `claims.controller()`.",
        "controller/options.py",
        "Options",
    ),
    Section(
        "Daemons",
        "Keywords of `@sp.daemon(Kind, …)`, beside those of controllers.",
        "controller/daemon/options.py",
        "DaemonOptions",
    ),
    Section(
        "Timers",
        "Keywords of `@sp.timer(Kind, …)`, beside those of controllers.",
        "controller/daemon/options.py",
        "TimerOptions",
    ),
    Section("Managers", "Keywords of `sp.Manager(client, …)` and `sp.run(…)`.", "controller/manager.py", "Manager"),
    Section("Leader election", "Fields of `sp.LeaderElection`.", "controller/leader.py", "LeaderElection"),
    Section(
        "Webhook server", "Keywords of `sp.WebhookServer(client, …)`.", "controller/webhook/server.py", "WebhookServer"
    ),
    Section("Caches", "Keywords of `setpoint.cache.Cache(client, …)`.", "cache/cache.py", "Cache"),
    Section(
        "Clients",
        "Keywords of `sp.Client(transport, …)`, `Client.connect(…)` and the others.",
        "client/requests.py",
        "Requests",
    ),
    Section("Defaults of calls", "Keywords of `client.with_options(…)`.", "client/options.py", "Options"),
    Section("Writes", "Keywords of `create`, `update`, `patch` and `apply`.", "client/options.py", "WriteOptions"),
    Section("Lists", "Keywords of `list`, `pages` and `each`.", "client/options.py", "ListOptions"),
    Section("Watches", "Keywords of `watch`.", "client/options.py", "WatchOptions"),
    Section("State machines", "Keywords of `sp.FSM(Kind, …)`.", "flow/fsm/fsm.py", "FSM"),
    Section("States", "Keywords of `@fsm.state(…)`.", "flow/fsm/fsm.py", "StateSettings"),
    Section(
        "Handlers of chains", "Keywords of `@chain.on_change(…)` and `on_remove`.", "flow/chain/handler.py", "Settings"
    ),
    Section("Generating handlers", "Keywords of `@sp.generates(Kind, …)`.", "flow/generate/declare.py", "generates"),
    Section("Apply sets", "Keywords of `sp.ApplySet(client, name, …)`.", "flow/apply_set.py", "ApplySet"),
    Section("Claims", "Keywords of `sp.Claims(Claim, Claimed, …)`.", "flow/claims/claims.py", "Claims"),
)


class Option(NamedTuple):
    """An option with its type, its default and its description; the default is empty for a required option."""

    name: str
    type: str
    default: str
    text: str


def markdown() -> str:
    """Returns the page."""
    parts = [_HEAD]
    for section in SECTIONS:
        parts.append(
            f"\n## {section.title}\n\n{section.introduction}\n\n| option | type | default | |\n|---|---|---|---|\n"
        )
        parts += [_row(option) for option in options_of(section)]
    return "".join(parts)


def _row(option: Option) -> str:
    cells = [f"`{option.name}`", f"`{option.type}`", f"`{option.default}`" if option.default else "", option.text]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def options_of(section: Section) -> list[Option]:
    """Returns the options of a section. Raises LookupError if the code has no such class or function."""
    source = (_SOURCE / section.file).read_text()
    found = next(
        (
            node
            for node in ast.parse(source).body
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == section.name
        ),
        None,
    )
    if found is None:
        raise LookupError(f"{section.file} has no {section.name}")
    lines = source.splitlines()
    options = _parameters(found, lines) if isinstance(found, ast.FunctionDef) else _members(found, lines)
    module = vars(import_module(f"setpoint.{section.file.removesuffix('.py').replace('/', '.')}"))
    return [option._replace(default=_value(option.default, module)) for option in options]


def _value(default: str, module: Mapping[str, object]) -> str:
    """Returns the value of a constant, and of the default of a dataclass field."""
    default = re.sub(r"^field\(default=(.*)\)$", r"\1", default)
    value = module.get(default)
    return repr(value) if isinstance(value, (int, float, str)) else default


def _members(found: ast.ClassDef, lines: list[str]) -> Iterator[Option]:
    """Yields the keywords of the constructor, or the fields of a class without one."""
    constructors = [node for node in found.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    if constructors:
        yield from _parameters(constructors[-1], lines)  # the last one is not an overload
        return
    for node in found.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not node.target.id.startswith("_"):
            default = "" if node.value is None else ast.unparse(node.value)
            yield Option(node.target.id, _type(node.annotation), default, _comment(node.lineno, lines))


def _parameters(function: ast.FunctionDef, lines: list[str]) -> Iterator[Option]:
    for parameter, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        assert parameter.annotation is not None
        text = "" if default is None else ast.unparse(default)
        yield Option(parameter.arg, _type(parameter.annotation), text, _comment(parameter.lineno, lines))


def _type(annotation: ast.expr) -> str:
    return re.sub(r"[\"']", "", ast.unparse(annotation))


def _comment(line: int, lines: list[str]) -> str:
    """Returns the comment above a line, as one text."""
    found: list[str] = []
    place = line - 2
    while place >= 0 and lines[place].strip().startswith("#"):
        found.insert(0, lines[place].strip().removeprefix("#").strip())
        place -= 1
    return " ".join(found)


if __name__ == "__main__":
    PAGE.write_text(markdown(), encoding="utf-8")
