"""The command `setpoint`. Each subcommand lives in a module of its own, imported when it is used."""

from typing import Any, NamedTuple

import click

from setpoint.cli.support.connection import Server, server_options
from setpoint.cli.support.errors import in_one_line
from setpoint.cli.support.lazy_group import LazyGroup


class Entry(NamedTuple):
    """Where a command is, and what it does in a few words: help on all commands imports none of them."""

    place: str
    summary: str


SECTIONS: dict[str, dict[str, Entry]] = {
    "Run": {
        "init": Entry("setpoint.cli.app.init:init", "Write setpoint.yaml, from what the directory has."),
        "up": Entry("setpoint.cli.app.up:up", "Run the app of a file."),
        "down": Entry("setpoint.cli.app.down:down", "End the app that runs here."),
        "demo": Entry("setpoint.cli.demo.demo:demo", "Try things out with an app that is there already."),
        "run": Entry("setpoint.cli.app.run:run", "Run a task of the app now, and end with its exit code."),
        "restart": Entry("setpoint.cli.app.restart:restart", "Restart parts of the app."),
        "stop": Entry("setpoint.cli.app.stop:stop", "Stop parts of the app, and leave the rest running."),
        "start": Entry("setpoint.cli.app.start:start", "Start parts that were stopped, or have ended."),
        "scale": Entry("setpoint.cli.objects.scale:scale", "Set how many replicas there should be."),
        "wait": Entry("setpoint.cli.objects.wait:wait", "Wait until objects are as wanted."),
        "exec": Entry("setpoint.cli.workloads.exec_attach:exec_", "Run a command inside a container."),
        "attach": Entry("setpoint.cli.workloads.exec_attach:attach", "Talk with a process that runs."),
    },
    "See": {
        "ps": Entry("setpoint.cli.workloads.ps:ps", "Show what runs, and what it waits for."),
        "logs": Entry("setpoint.cli.workloads.logs:logs", "Show the output of workloads."),
        "graph": Entry("setpoint.cli.app.graph:graph", "Show who comes after whom."),
        "top": Entry("setpoint.cli.workloads.top:top", "Show what workloads take of processor and memory."),
        "url": Entry("setpoint.cli.workloads.url:url", "Print the addresses of services."),
        "open": Entry("setpoint.cli.workloads.url:open_", "Open a service in the browser."),
        "env": Entry("setpoint.cli.workloads.env:env", "Show the environment of a workload, and where it is from."),
    },
    "Ask": {
        "why": Entry("setpoint.cli.past.why:why", "Tell why an object is as it is."),
        "history": Entry("setpoint.cli.past.history:history", "Show the revisions of an object."),
        "diff": Entry("setpoint.cli.past.diff:diff", "Show what differs between two moments of an object."),
        "at": Entry("setpoint.cli.past.at:at", "Read as of a moment in the past."),
        "blame": Entry("setpoint.cli.past.blame:blame", "Show who last set each field of an object."),
        "timeline": Entry("setpoint.cli.past.timeline:timeline", "Show what happened to objects, in order."),
        "trace": Entry("setpoint.cli.past.trace:trace", "Show the reconciles of an object, and why they ran."),
    },
    "Objects": {
        "get": Entry("setpoint.cli.objects.get:get", "Show objects."),
        "describe": Entry("setpoint.cli.objects.describe:describe", "Tell all that is known of objects."),
        "render": Entry("setpoint.cli.app.render:render", "Print the objects that the app file becomes."),
        "apply": Entry("setpoint.cli.objects.apply:apply", "Make objects as files say."),
        "delete": Entry("setpoint.cli.objects.delete:delete", "Delete objects."),
        "edit": Entry("setpoint.cli.objects.edit:edit", "Change objects in an editor."),
        "explain": Entry("setpoint.cli.objects.explain:explain", "Tell what the fields of a kind mean."),
    },
    "Controllers": {
        "controllers": Entry("setpoint.cli.controllers.group:controllers", "Show how the app's controllers do."),
        "new": Entry("setpoint.cli.controllers.new:new", "Write a new controller, with a test."),
        "dev": Entry("setpoint.cli.controllers.dev:dev", "Run controllers while you work on them."),
        "test": Entry("setpoint.cli.controllers.project_tests:test", "Run the tests of the project."),
        "crd": Entry("setpoint.cli.controllers.crd:crd", "Print the CustomResourceDefinition of each class."),
        "models": Entry(
            "setpoint.cli.controllers.models:models", "Print the Python classes of CustomResourceDefinitions."
        ),
        "fsm": Entry("setpoint.cli.controllers.fsm:fsm", "Print the states of a finite-state controller."),
        "envtest-assets": Entry(
            "setpoint.cli.controllers.envtest:envtest_assets", "Write what the tests of Go operators start."
        ),
    },
    "House": {
        "serve": Entry("setpoint.cli.admin.serve:serve", "Serve the Kubernetes API."),
        "user": Entry("setpoint.cli.admin.user:user", "Make a kubeconfig for a user."),
        "kubeconfig": Entry("setpoint.cli.admin.kubeconfig:kubeconfig", "Print where the kubeconfig is."),
        "sessions": Entry("setpoint.cli.admin.sessions:sessions", "Show which apps run on this machine."),
        "dcp": Entry("setpoint.cli.dcp.group:dcp", "What clients of Microsoft's DCP call."),
        "purge": Entry("setpoint.cli.admin.purge:purge", "Remove the past values of an object for good."),
        "clean": Entry("setpoint.cli.admin.clean:clean", "Clear away what sessions that ended have left."),
        "export": Entry("setpoint.cli.admin.export:export", "Write what happened into one file."),
        "import": Entry("setpoint.cli.admin.import_:import_", "Open what `export` wrote, to be read."),
        "doctor": Entry("setpoint.cli.admin.doctor:doctor", "Look for what on this machine is in the way."),
        "completion": Entry("setpoint.cli.admin.completion:completion", "Print the completion for a shell."),
        "version": Entry("setpoint.cli.admin.version:version", "Print the versions of this program and the server."),
    },
}
_COMMANDS = {name: entry.place for section in SECTIONS.values() for name, entry in section.items()}


class _Sections(LazyGroup):
    """All commands, section by section."""

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
            ctx.fail(f"There is no command {args[0]!r}.{hint}")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, entries in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name, entry.summary) for name, entry in entries.items()])


@click.group(cls=_Sections, commands_at=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@server_options
@click.pass_context
def main(ctx: click.Context, server: Server) -> None:
    """A Kubernetes-compatible control plane for one machine or many."""
    ctx.obj = server
