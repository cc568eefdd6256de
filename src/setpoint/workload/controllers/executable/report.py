"""What the object of an Executable says of it: its status, and the conditions with their reasons."""

from setpoint.controller.context import Context
from setpoint.workload.controllers.executable.lifecycle import Execution
from setpoint.workload.runtime import World


def report(ctx: Context, world: World, execution: Execution) -> None:
    """Puts into the status what is. That it has become unwell is an event as well."""
    health = execution.health
    ctx.status.put(execution.status())
    running = execution.state == "Running"
    if (watched := world.watched("Executable", execution.name)) is not None:
        ctx.status.condition("Watching", *watched)
    ctx.status.condition("Started", running, execution.reason, execution.message)
    if not running:
        ctx.status.condition("Ready", False, execution.reason, execution.message)
    elif health == "Healthy":
        ctx.status.condition("Ready", True, "Healthy", "it runs, and all probes succeed")
    else:
        results = execution.probing.results if execution.probing is not None else []
        failed = [f"{each.probe_name}: {each.reason or each.outcome}" for each in results if each.outcome != "Success"]
        message = "; ".join(failed) or "its probes have not answered yet"
        news = ctx.status.condition("Ready", False, "ProbeFailed" if failed else "Probing", message)
        if news and failed:
            world.telling.event("Executable", execution, "Unhealthy", message, is_bad=True)
