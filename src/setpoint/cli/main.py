"""The command `setpoint`. Each subcommand has its own module, which is imported only when the command is used."""

from typing import Any, NamedTuple

import click

from setpoint.cli.support.connection import Server, server_options
from setpoint.cli.support.errors import in_one_line
from setpoint.cli.support.lazy_group import LazyGroup


class CommandEntry(NamedTuple):
    """The location and summary of a command, so that `setpoint --help` imports no command module."""

    place: str
    summary: str


SECTIONS: dict[str, dict[str, CommandEntry]] = {
    "Run": {
        "init": CommandEntry("setpoint.cli.app.init:init", "Write setpoint.yaml from the files in the directory."),
        "up": CommandEntry("setpoint.cli.app.up:up", "Start the app of an app file."),
        "down": CommandEntry("setpoint.cli.app.down:down", "Stop the app and remove its objects."),
        "demo": CommandEntry("setpoint.cli.demo.demo:demo", "Start a sample app to try Setpoint."),
        "run": CommandEntry("setpoint.cli.app.run:run", "Run a task, or a command with the settings of a service."),
        "restart": CommandEntry("setpoint.cli.app.restart:restart", "Restart parts of the app."),
        "stop": CommandEntry("setpoint.cli.app.stop:stop", "Stop parts of the app and leave the rest running."),
        "start": CommandEntry("setpoint.cli.app.start:start", "Start parts that were stopped or have exited."),
        "scale": CommandEntry("setpoint.cli.objects.scale:scale", "Set the number of replicas."),
        "wait": CommandEntry("setpoint.cli.objects.wait:wait", "Wait for a condition on objects."),
        "exec": CommandEntry("setpoint.cli.workloads.exec:exec_", "Execute a command in a running service."),
        "attach": CommandEntry(
            "setpoint.cli.workloads.exec_attach:attach", "Attach to a running process or container."
        ),
    },
    "See": {
        "ps": CommandEntry("setpoint.cli.workloads.ps:ps", "List workloads and their status."),
        "logs": CommandEntry("setpoint.cli.workloads.logs:logs", "Print the logs of workloads."),
        "dashboard": CommandEntry("setpoint.cli.admin.dashboard:dashboard", "Print a link to the dashboard."),
        "graph": CommandEntry("setpoint.cli.app.graph:graph", "Show the dependencies between parts."),
        "top": CommandEntry("setpoint.cli.workloads.top:top", "Show the CPU and memory usage of workloads."),
        "url": CommandEntry("setpoint.cli.workloads.url:url", "Print the URLs of services."),
        "open": CommandEntry("setpoint.cli.workloads.url:open_", "Open a service in the browser."),
        "env": CommandEntry("setpoint.cli.workloads.env:env", "Show the environment of a workload and its origin."),
    },
    "Ask": {
        "why": CommandEntry("setpoint.cli.past.why:why", "Explain the current state of an object."),
        "history": CommandEntry("setpoint.cli.past.history:history", "Show the revisions of an object."),
        "diff": CommandEntry("setpoint.cli.past.diff:diff", "Show the differences between two revisions of an object."),
        "at": CommandEntry("setpoint.cli.past.at:at", "Run a read-only command against a past state."),
        "blame": CommandEntry("setpoint.cli.past.blame:blame", "Show which client last set each field of an object."),
        "timeline": CommandEntry(
            "setpoint.cli.past.timeline:timeline", "Show the changes of objects in chronological order."
        ),
        "runs": CommandEntry("setpoint.cli.past.runs:runs", "List the runs of the app, and compare two of them."),
        "trace": CommandEntry("setpoint.cli.past.trace:trace", "Show the reconciles of an object and their triggers."),
        "telemetry": CommandEntry(
            "setpoint.cli.telemetry.group:telemetry", "Show the traces that services export with OpenTelemetry."
        ),
        "mcp": CommandEntry("setpoint.cli.mcp.group:mcp", "Serve tools for coding assistants (MCP)."),
    },
    "Objects": {
        "get": CommandEntry("setpoint.cli.objects.get:get", "Display objects."),
        "describe": CommandEntry("setpoint.cli.objects.describe:describe", "Show details of objects."),
        "render": CommandEntry("setpoint.cli.app.render:render", "Print the objects generated from the app file."),
        "apply": CommandEntry("setpoint.cli.objects.apply:apply", "Apply a configuration to objects by file."),
        "delete": CommandEntry("setpoint.cli.objects.delete:delete", "Delete objects."),
        "edit": CommandEntry("setpoint.cli.objects.edit:edit", "Edit objects in an editor."),
        "explain": CommandEntry("setpoint.cli.objects.explain:explain", "Show documentation of a kind's fields."),
    },
    "Controllers": {
        "controllers": CommandEntry(
            "setpoint.cli.controllers.group:controllers", "Show the status of the app's controllers."
        ),
        "new": CommandEntry("setpoint.cli.controllers.new:new", "Create a new controller with a test."),
        "dev": CommandEntry("setpoint.cli.controllers.dev:dev", "Run controllers and reload them on changes."),
        "test": CommandEntry("setpoint.cli.controllers.project_tests:test", "Run the tests of the project."),
        "crd": CommandEntry(
            "setpoint.cli.controllers.crd:crd", "Print the CustomResourceDefinitions of Python classes."
        ),
        "models": CommandEntry(
            "setpoint.cli.controllers.models:models", "Print Python classes for CustomResourceDefinitions."
        ),
        "fsm": CommandEntry("setpoint.cli.controllers.fsm:fsm", "Print the states of a finite-state controller."),
        "envtest-assets": CommandEntry(
            "setpoint.cli.controllers.envtest:envtest_assets", "Write the binaries that envtest of Go operators starts."
        ),
    },
    "Administration": {
        "serve": CommandEntry("setpoint.cli.admin.serve:serve", "Serve the Kubernetes API."),
        "user": CommandEntry("setpoint.cli.admin.user:user", "Create a kubeconfig for a user."),
        "kubeconfig": CommandEntry("setpoint.cli.admin.kubeconfig:kubeconfig", "Print the path of the kubeconfig."),
        "sessions": CommandEntry("setpoint.cli.admin.sessions:sessions", "List the apps running on this machine."),
        "dcp": CommandEntry("setpoint.cli.dcp.group:dcp", "Commands for clients of Microsoft's DCP."),
        "fork": CommandEntry("setpoint.cli.admin.fork:fork", "Copy the control plane, and print a kubeconfig."),
        "purge": CommandEntry("setpoint.cli.admin.purge:purge", "Permanently remove past values of an object."),
        "clean": CommandEntry("setpoint.cli.admin.clean:clean", "Remove leftovers of ended sessions."),
        "export": CommandEntry(
            "setpoint.cli.admin.export:export", "Export an app or the objects of a cluster to a file."
        ),
        "import": CommandEntry("setpoint.cli.admin.import_:import_", "Open an exported file as a read-only session."),
        "doctor": CommandEntry("setpoint.cli.admin.doctor:doctor", "Check this machine for problems."),
        "completion": CommandEntry("setpoint.cli.admin.completion:completion", "Print a shell completion script."),
        "version": CommandEntry("setpoint.cli.admin.version:version", "Print the client and server versions."),
    },
}
_COMMANDS = {name: entry.place for section in SECTIONS.values() for name, entry in section.items()}


class _Sections(LazyGroup):
    """The group of all commands. Its help lists them by section."""

    def invoke(self, ctx: click.Context) -> Any:
        with in_one_line():
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            import difflib

            close = difflib.get_close_matches(args[0], self.list_commands(ctx), n=2)
            hint = f" Did you mean {' or '.join(close)}?" if close else ""
            ctx.fail(f"unknown command {args[0]!r}.{hint}")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, entries in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name, entry.summary) for name, entry in entries.items()])


def _print_version(ctx: click.Context, param: click.Parameter, is_given: bool) -> None:
    if is_given and not ctx.resilient_parsing:
        from setpoint.cli.admin.version import version_text
        from setpoint.cli.output.terminal import echo

        echo(version_text())
        ctx.exit()


@click.group(cls=_Sections, commands_at=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the versions of Setpoint, Python and the system, and exit.",
)
@server_options
@click.pass_context
def main(ctx: click.Context, server: Server) -> None:
    """A Kubernetes-compatible control plane for one machine or many."""
    ctx.obj = server
