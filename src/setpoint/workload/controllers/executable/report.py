"""Writes the status and the conditions of an Executable."""

from setpoint.controller.context import Context
from setpoint.workload.controllers.executable.lifecycle import Execution
from setpoint.workload.runtime import Machine


def report(ctx: Context, machine: Machine, execution: Execution) -> None:
    """Writes the state to the object's status. Records an event when the probes begin to fail."""
    health = execution.health
    ctx.status.put(execution.status())
    running = execution.state == "Running"
    if (watched := machine.watched("Executable", execution.name)) is not None:
        ctx.status.condition("Watching", *watched)
    ctx.status.condition("Started", running, execution.reason, execution.message)
    if not running:
        ctx.status.condition("Ready", False, execution.reason, execution.message)
    elif health == "Healthy":
        ctx.status.condition("Ready", True, "Healthy", "the process is running and all probes succeed")
    else:
        results = execution.probing.results if execution.probing is not None else []
        failed = [f"{each.probe_name}: {each.reason or each.outcome}" for each in results if each.outcome != "Success"]
        message = "; ".join(failed) or "the probes have no results yet"
        news = ctx.status.condition("Ready", False, "ProbeFailed" if failed else "Probing", message)
        if news and failed:
            machine.reporter.event("Executable", execution, "Unhealthy", message, is_bad=True)
