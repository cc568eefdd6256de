"""`setpoint fsm`: prints or draws the states of a finite-state controller."""

from pathlib import Path

import click

from setpoint.cli.output.terminal import echo
from setpoint.cli.support.errors import Failure
from setpoint.cli.support.user_modules import import_here
from setpoint.flow.fsm.fsm import FSM
from setpoint.flow.fsm.picture import svg as picture
from setpoint.flow.fsm.state_graph import GraphError


@click.command()
@click.argument("target", metavar="MODULE:FSM")
@click.option(
    "--svg", "file", type=click.Path(dir_okay=False, path_type=Path), help="Write an SVG picture to this file."
)
def fsm(target: str, file: Path | None) -> None:
    """Print the states and transitions of a finite-state controller.

    MODULE:FSM names the FSM, such as shop.operator:fsm. Modules are searched on Python's path and in the current
    directory; the controller is not run. Cycles and unreachable states are reported as errors.
    """
    found = _find(target)
    try:
        graphs = [(str(found.kind), found.graph())]
        if (cleaning := found.finalizer_graph()) is not None:
            graphs.append((f"{found.kind}, on deletion", cleaning))
    except GraphError as error:
        raise Failure(f"{target}: {error}") from None
    if file is None:
        echo("\n\n".join(f"{title}\n{graph.text()}" for title, graph in graphs))
        return
    try:
        file.write_text(picture(graphs), encoding="utf-8")
    except OSError as error:
        raise Failure(f"cannot write {file}: {error.strerror}") from None


def _find(target: str) -> FSM:
    module, colon, name = target.partition(":")
    if not module or not colon or not name:
        raise click.BadParameter(f"invalid target {target!r}: expected MODULE:FSM, e.g. shop.operator:fsm")
    members = vars(import_here(module))
    found = members.get(name)
    if isinstance(found, FSM):
        return found
    known = sorted(each for each, value in members.items() if isinstance(value, FSM))
    hint = f"; {module} has {', '.join(known)}" if known else f"; {module} has none"
    raise Failure(f"{target} is not an FSM{hint}")
