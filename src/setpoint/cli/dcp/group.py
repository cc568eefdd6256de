"""`setpoint-dcp` and `setpoint dcp`: the DCP commands. Each is imported only when used."""

import gc

import click

from setpoint.cli.dcp.diagnostics import VERBOSITY
from setpoint.cli.support.lazy_group import LazyGroup

_COMMANDS = {
    "cleanup": "setpoint.cli.dcp.cleanup:cleanup",
    "fork-process": "setpoint.cli.dcp.processes:fork_process",
    "info": "setpoint.cli.dcp.information:info",
    "monitor-container": "setpoint.cli.dcp.containers:monitor_container",
    "monitor-process": "setpoint.cli.dcp.processes:monitor_process",
    "run-controllers": "setpoint.cli.dcp.controllers:run_controllers",
    "session-log": "setpoint.cli.dcp.session_log:session_log",
    "start-apiserver": "setpoint.cli.dcp.start:start_apiserver",
    "stop-process-tree": "setpoint.cli.dcp.processes:stop_process_tree",
    "version": "setpoint.cli.dcp.information:version",
}


@click.group(cls=LazyGroup, commands_at=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-v", "--verbosity", metavar="LEVEL", default="", help="Log level: debug, info, error or a number.")
@click.pass_context
def dcp(context: click.Context, verbosity: str) -> None:
    """Commands for clients of Microsoft's Developer Control Plane."""
    gc.enable()  # these commands run long; `cli.start` has disabled the collector
    context.meta[VERBOSITY] = verbosity


def main() -> None:
    """Entry point of the program `setpoint-dcp`."""
    dcp(prog_name="setpoint-dcp")
