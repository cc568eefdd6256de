"""The options of a one-off command of a service, and the object of the service."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from setpoint.cli.support.errors import NOT_FOUND, Failure

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.objects.tree import Object
    from setpoint.session.one_off import OneOff


class OneOffOptions(NamedTuple):
    """The options that require --service."""

    env: tuple[str, ...] = ()
    directory: str = ""
    user: str = ""
    entrypoint: str = ""
    alone: bool = False
    ports: bool = False
    keeps: bool = False
    stdin: bool = False
    tty: bool = False
    no_tty: bool = False

    @property
    def is_given(self) -> str:
        """The first given option, or an empty string."""
        names = {
            "--env": self.env,
            "--workdir": self.directory,
            "--user": self.user,
            "--entrypoint": self.entrypoint,
            "--no-deps": self.alone,
            "--service-ports": self.ports,
            "--no-rm": self.keeps,
            "-i": self.stdin,
            "-t": self.tty,
            "-T": self.no_tty,
        }
        return next((name for name, value in names.items() if value), "")

    def one_off(self, words: tuple[str, ...]) -> "OneOff":
        """Returns the one-off of a command. Raises Failure."""
        from setpoint.cli.workloads.exec import terminal_options, terminal_size, variables
        from setpoint.session.one_off import OneOff

        command = words[1:] if words[:1] == ("--",) else words
        stdin, tty = terminal_options(self.stdin, self.tty, self.no_tty)
        return OneOff(
            command,
            variables(self.env),
            self.directory,
            self.user,
            self.entrypoint,
            terminal=terminal_size() if tty else None,
            stdin=stdin,
            dependencies=not self.alone,
            ports=self.ports,
        )


def one_off_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of a one-off, as the argument `one_off`."""

    @functools.wraps(command)
    def inner(*args: Any, **given: Any) -> Any:
        own = {name: given.pop(name) for name in OneOffOptions._fields if name != "keeps"}
        own["keeps"] = not given.pop("removes")
        return command(*args, one_off=OneOffOptions(**own), **given)

    made: Callable[..., Any] = inner
    for option in (
        click.option("-T", "--no-tty", is_flag=True, help="With --service: do not use a terminal."),
        click.option("-t", "--tty", is_flag=True, help="With --service: use a terminal. [default: if there is one]"),
        click.option("-i", "--stdin", is_flag=True, help="With --service: pass stdin to the command."),
        click.option(
            "--rm/--no-rm",
            "removes",
            default=True,
            help="With --service: remove the ended command, or keep its object and log. [default: rm]",
        ),
        click.option("--service-ports", "ports", is_flag=True, help="With --service: serve the ports of the service."),
        click.option("--no-deps", "alone", is_flag=True, help="With --service: do not wait for dependencies."),
        click.option("--entrypoint", default="", metavar="PROGRAM", help="With --service: entry point of a container."),
        click.option("-u", "--user", default="", metavar="NAME", help="With --service: user in a container."),
        click.option("-w", "--workdir", "directory", default="", metavar="DIR", help="With --service: directory."),
        click.option("-e", "--env", multiple=True, metavar="NAME=VALUE", help="With --service: set a variable."),
    ):
        made = option(made)
    return made


async def service_object(client: "Client", name: str) -> "Object":
    """Returns the object of a service of a running app, or of one of its replicas. Raises Failure."""
    from setpoint.cli.workloads.inventory import find, read_workloads

    found = [each for each in find(await read_workloads(client), name) if each.kind != "Task"]
    if not found:
        raise Failure(f"{name} is a task: use `setpoint run {name}`", NOT_FOUND)
    return found[0].tree
