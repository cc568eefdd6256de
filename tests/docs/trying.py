"""A page tried out: what it tells to write is written, what it tells to type is typed, and what it shows must come."""

import functools
import time
from pathlib import Path

from tests import debian
from tests.docs.pages import Block, Step, blocks, is_shown, is_shown_so_far, steps
from tests.docs.shell import Shell

# How long something that is looked for may take to be there, on a busy machine.
PATIENCE = 20.0
# Those only look. Who tries a page looks again when something is not there yet, and so do we.
_LOOKING = (
    *(
        f"setpoint {word}"
        for word in ("at", "controllers", "get", "history", "logs", "ps", "timeline", "trace", "url", "why")
    ),
    "kubectl get",
    "curl",
)
_WAITING = "waiting for "


def try_page(page: Path, shell: Shell) -> None:
    """Tries a page from its beginning to its end."""
    try_blocks(page.name, blocks(page), shell)


def try_blocks(page: str, found: list[Block], shell: Shell) -> None:
    """Tries what stands on a page, in order."""
    _have_what_it_needs(found)
    for block in found:
        if block.file:
            place = Path(shell.type("pwd").printed.strip()) / block.file
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(block.body)
        elif block.kind == "key":
            shown, code = shell.press(block.body)
            assert code == 0, f"{page}, line {block.line}: it ends with {code}:\n{shown}"
        elif block.kind == "text" and block.is_apart:
            shell.look_apart(functools.partial(is_shown_so_far, shown=block.body))
        elif block.kind in ("console", "sh") and not block.not_run:
            for step in steps(block):
                _try(shell, step, block, page)


def _try(shell: Shell, step: Step, block: Block, page: str) -> None:
    if block.is_apart:
        shell.type_apart(step.command, functools.partial(is_shown_so_far, shown=step.shown or ""))
        return
    deadline = time.monotonic() + PATIENCE
    printed, code = shell.type(step.command)
    if step.command.startswith("setpoint down") and _WAITING not in (step.shown or ""):
        # On a busy machine a service ends so late that `down` names it.
        printed = "".join(line for line in printed.splitlines(keepends=True) if not line.startswith(_WAITING))
    while step.command.startswith(_LOOKING) and not is_shown(printed, step.shown or "") and time.monotonic() < deadline:
        time.sleep(0.1)
        printed, code = shell.type(step.command)
    where = f"{page}, line {block.line}: {step.command}"
    if step.shown is not None:
        assert is_shown(printed, step.shown), f"{where}\n--- printed\n{printed}\n--- shown\n{step.shown}"
    assert code == 0 or _is_asked_for(block, step), f"{where}\nends with {code}:\n{printed}"


def _is_asked_for(block: Block, step: Step) -> bool:
    """Whether the page shows how the command ended: then the exit code is compared like any other output."""
    following = steps(block)
    return "echo $?" in [each.command for each in following[following.index(step) + 1 :][:1]]


def _have_what_it_needs(found: list[Block]) -> None:
    typed = {word for block in found if block.kind in ("console", "sh") for word in block.body.split()}
    for program, package in (("kubectl", "kubernetes-client"), ("curl", "curl")):
        if program in typed:
            debian.require(program, package)
