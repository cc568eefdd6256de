"""The messages of mypy and pyright for wrong programs, and their silence about right ones."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

# Runs two type checkers over the whole package.
pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# The messages about each wrong program: the beginning of that of mypy, and a line of that of pyright.
WRONG = {
    "children_of_another_kind": (
        'Argument 1 has incompatible type "Callable[[Site, SiteStatus], Iterator[Resource]]"; '
        'expected "Callable[[Team, Any], Any]',
        'Parameter 1: type "Team" is incompatible with type "Site"',
    ),
    "class_of_another_kind": (
        'Argument 1 to "__call__" of "ControllerDecorator" has incompatible type "type[Teams]"; '
        'expected "Callable[[Context[Team], Request]',
        'No overloads for "__call__" match the provided arguments',
    ),
    "class_without_reconcile": (
        'Argument 1 to "__call__" of "ControllerDecorator" has incompatible type "type[Teams]"; '
        'expected "Callable[[Context[Team], Request]',
        'No overloads for "__call__" match the provided arguments',
    ),
    "controller_of_another_kind": (
        'Argument 2 to "Controller" has incompatible type "Callable[[Context[Site], Request], '
        'Coroutine[Any, Any, None]]"; expected "Callable[[Context[Team], Request]',
        '"type[Team]" is not assignable to "type[Site]"',
    ),
    "daemon_of_another_kind": (
        'Argument 1 to "__call__" of "DaemonDecorator" has incompatible type "Callable[[DaemonContext[Site], Request], '
        'Coroutine[Any, Any, None]]"; expected "Callable[[DaemonContext[Team], Request]',
        'Parameter 1: type "SyncDaemonContext[Team]" is incompatible with type "DaemonContext[Site]"',
    ),
    "def_method_of_another_kind": (
        'Argument 1 to "__call__" of "ControllerDecorator" has incompatible type "type[Teams]"; '
        'expected "Callable[[Context[Team], Request]',
        'No overloads for "__call__" match the provided arguments',
    ),
    "def_reconcile_of_another_kind": (
        'incompatible type "Callable[[SyncContext[Site], Request], None]"; expected "Callable[[Context[Team], Request]',
        'Parameter 1: type "SyncContext[Team]" is incompatible with type "SyncContext[Site]"',
    ),
    "deleted_object": (
        'Item "None" of "Team | None" has no attribute "spec"',
        '"spec" is not a known attribute of "None"',
    ),
    "edit_that_returns_another_value": (
        'Argument 4 to "edit" of "Editing" has incompatible type "Callable[[Site], int]"; '
        'expected "Callable[[Site], Site | None]"',
        'Function return type "int" is incompatible with type "Site | None"',
    ),
    "handler_of_another_kind": (
        'Argument 1 has incompatible type "Callable[[HandlerContext[Site], Site], Coroutine[Any, Any, None]]"; '
        'expected "Callable[[HandlerContext[Team], Team]',
        'Parameter 2: type "Team" is incompatible with type "Site"',
    ),
    "missing_await_of_a_read": (
        '"Coroutine[Any, Any, Team | None]" has no attribute "spec"',
        'Cannot access attribute "spec" for class "CoroutineType[Any, Any, Team | None]"',
    ),
    "missing_await_of_a_write": (
        'Value of type "Coroutine[Any, Any, ConfigMap]" must be used',
        'Result of async function call is not used; use "await" or assign result to variable',
    ),
    "missing_object": (
        'Item "None" of "Site | None" has no attribute "replicas"',
        '"replicas" is not a known attribute of "None"',
    ),
    "reconcile_of_another_kind": (
        'Argument 1 to "__call__" of "ControllerDecorator" has incompatible type "Callable[[Context[Site], Request], '
        'Coroutine[Any, Any, None]]"; expected "Callable[[Context[Team], Request]',
        'Parameter 1: type "SyncContext[Team]" is incompatible with type "Context[Site]"',
    ),
    "result_of_a_reconcile": (
        'Value of type variable "AwaitableResult" of "__call__" of "ControllerDecorator" cannot be '
        '"Coroutine[Any, Any, int]"',
        'Type "CoroutineType[Any, Any, int]" is not assignable to type "Result | None"',
    ),
    "state_of_another_kind": (
        'Argument 1 has incompatible type "Callable[[Context[Site], Site, Outputs], ',
        'Parameter 2: type "Team" is incompatible with type "Site"',
    ),
    "status_field_of_another_type": (
        'Incompatible types in assignment (expression has type "int", variable has type "str")',
        '"Literal[3]" is not assignable to "str"',
    ),
    "timer_of_another_kind": (
        'incompatible type "Callable[[SyncContext[Site], Request], None]"; expected "Callable[[Context[Team], Request]',
        'Parameter 1: type "SyncContext[Team]" is incompatible with type "SyncContext[Site]"',
    ),
    "unknown_field_in_a_list": (
        '"Site" has no attribute "replica"; maybe "replicas"?',
        'Cannot access attribute "replica" for class "Site"',
    ),
    "unknown_field_of_a_read": (
        '"Site" has no attribute "replica"; maybe "replicas"?',
        'Cannot access attribute "replica" for class "Site"',
    ),
    "unknown_option": (
        'Unexpected keyword argument "own" for overloaded function "controller"; did you mean "owns"?',
        'No overloads for "controller" match the provided arguments',
    ),
    "unknown_status_field": (
        '"TeamStatus" has no attribute "txt"; maybe "text"?',
        'Cannot assign to attribute "txt" for class "TeamStatus"',
    ),
    "webhook_of_another_kind": (
        'Argument 1 has incompatible type "Callable[[Site], None]"; expected "Callable[[Team], Any]',
        'Parameter 1: type "Team" is incompatible with type "Site"',
    ),
}


class Mistake(NamedTuple):
    """An error that a type checker reports."""

    program: str
    line: int
    message: str


def programs(kind: str) -> list[Path]:
    return sorted(path for path in (HERE / kind).glob("*.py") if path.stem != "__init__")


def mypy(paths: list[str]) -> list[Mistake]:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *paths]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode in (0, 1), ran.stderr
    found = re.findall(r"^(\S+?\.py):(\d+): error: (.*)$", ran.stdout, re.MULTILINE)
    return [Mistake(Path(path).stem, int(line), message) for path, line, message in found]


def pyright(paths: list[str]) -> list[Mistake]:
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", *paths]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode in (0, 1), ran.stderr
    found = json.loads(ran.stdout)["generalDiagnostics"]
    return [
        Mistake(Path(each["file"]).stem, each["range"]["start"]["line"] + 1, each["message"])
        for each in found
        if each["severity"] == "error"
    ]


def wrong_lines(program: str) -> set[int]:
    """Returns the marked line, and the next one: some mistakes of a decorated function are reported there."""
    lines = (HERE / "wrong" / f"{program}.py").read_text().splitlines()
    (wrong,) = [number for number, line in enumerate(lines, 1) if line.endswith("# wrong")]
    return {wrong, wrong + 1}


# One test for each checker, because a run of a checker takes some seconds.
@pytest.mark.parametrize("checker", [mypy, pyright])
def test_a_checker_names_each_mistake_at_its_line_and_accepts_the_right_programs(
    checker: Callable[[list[str]], list[Mistake]],
) -> None:
    found = checker([str(path) for kind in ("wrong", "right") for path in programs(kind)])
    by_program: dict[str, list[Mistake]] = {}
    for mistake in found:
        by_program.setdefault(mistake.program, []).append(mistake)
    place = 0 if checker is mypy else 1
    unnamed = {
        program: by_program.get(program)
        for program, messages in WRONG.items()
        if not any(messages[place] in mistake.message for mistake in by_program.get(program, ()))
    }
    assert unnamed == {}
    misplaced = [each for each in found if each.program in WRONG and each.line not in wrong_lines(each.program)]
    assert misplaced == []
    assert [each for each in found if each.program not in WRONG] == []


def test_every_wrong_program_has_its_messages() -> None:
    assert [path.stem for path in programs("wrong")] == sorted(WRONG)
    assert len(programs("right")) >= 4
