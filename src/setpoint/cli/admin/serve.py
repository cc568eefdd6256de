"""`setpoint serve`: runs the API server until a signal stops the process, or for the duration of a command."""

import asyncio
import gc
import logging
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from msgspec import structs

from setpoint import process
from setpoint.cli.output.terminal import echo
from setpoint.cli.support.errors import Failure
from setpoint.config.fields import ConfigField, all_fields
from setpoint.config.settings import Config

if TYPE_CHECKING:
    from setpoint.cli.admin.served_command import ServedCommand
    from setpoint.plane import ControlPlane

# `_serve` imports all slow modules, so that --help and usage errors need not wait for them.

_log = logging.getLogger(__name__)
_ANY_PORT = "127.0.0.1:0"


def _flags(command: Callable[..., None]) -> Callable[..., None]:
    """Adds one flag for each field of the configuration."""
    for field in reversed(list(all_fields())):
        command = _option(field)(command)
    return command


def _option(field: ConfigField) -> Callable[[Callable[..., None]], Callable[..., None]]:
    name = _parameter(field)
    default = "" if field.default in ("", (), {}, None) else f" [default: {_shown(field.default)}]"
    text = f"{field.description}{default}"
    if field.is_bool:
        return click.option(f"{field.flag}/--no-{field.flag[2:]}", name, default=None, help=text)
    many = field.is_list or field.is_dict
    metavar = field.metavar or ("|".join(field.choices) if field.choices else "VALUE")
    return click.option(
        field.flag, name, metavar=metavar, multiple=many, default=None, envvar=field.env or None, help=text
    )


def _parameter(field: ConfigField) -> str:
    return "__".join(field.path).lower()


def _shown(value: Any) -> str:
    return (
        ",".join(value) if isinstance(value, tuple) else str(value).lower() if isinstance(value, bool) else str(value)
    )


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--config", "file", metavar="FILE", help="Configuration file. Flags take precedence over the file.")
@click.option("--print-config", "only_print", is_flag=True, help="Print the effective configuration and exit.")
@_flags
@click.argument("command", metavar="[-- CMD [ARGUMENT]...]", nargs=-1, type=click.UNPROCESSED)
def serve(file: str | None, only_print: bool, command: tuple[str, ...], **flags: Any) -> None:
    """Serve the Kubernetes API.

    Prints one line, `ready https://HOST:PORT`, when the server is ready. By then the server has written a kubeconfig
    for the administrator. SIGTERM or Ctrl-C stops the server gracefully: running requests finish and watches end. A
    second signal stops the server immediately. SIGHUP reloads the token file, the audit policy and the certificates.

    With CMD, the server runs for the duration of that command, by default at a free port. KUBECONFIG of the command
    names a private kubeconfig of the administrator, which is removed afterwards. Signals are passed on to the command,
    and its exit code is returned: 128 + n after signal n, 127 if there is no such command.
    """
    from setpoint.config.loader import read_config, shown
    from setpoint.objects.typedyaml import Mistakes

    given = {field.flag: value for field in all_fields() if (value := flags[_parameter(field)]) not in (None, ())}
    # Ignores an empty environment variable.
    given = {flag: value for flag, value in given.items() if (flag, value) != ("--token", "")}
    try:
        config = read_config(Path(file) if file else None, given)
    except Mistakes as mistakes:
        raise Failure(str(mistakes)) from None
    if only_print:
        from setpoint.objects import yamltext

        echo(yamltext.dump(shown(config)), nl=False)
        return
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    if command:
        is_default = config.listen == Config().listen and "--listen" not in given
        _run_command(command, structs.replace(config, listen=_ANY_PORT) if is_default else config)
    # Startup creates hardly any garbage; collections would take a tenth of the startup time.
    gc.disable()
    sys.exit(process.run(lambda stop: _serve(config, stop)))


def _run_command(arguments: tuple[str, ...], config: Config) -> NoReturn:
    """Runs a command with a server, and ends this process with the exit code of the command."""
    from setpoint.cli.admin.served_command import ServedCommand

    command = ServedCommand(arguments)
    with tempfile.TemporaryDirectory(prefix="setpoint-") as directory:
        kubeconfig = Path(config.kubeconfig) if config.kubeconfig else Path(directory) / "kubeconfig"
        # The command inherits the limit of open files, which therefore stays unchanged.
        code = process.run(lambda _: _serve_command(config, kubeconfig, command), raise_file_limit=False)
    sys.exit(code or command.exit_code)


async def _serve_command(config: Config, kubeconfig: Path, command: "ServedCommand") -> None:
    command.take_signals()
    async with _listening(config, kubeconfig) as plane:
        plane.start_system(config.controllers)
        # The command finds the default service account, and the other objects of the controllers.
        await plane.settle()
        async with asyncio.TaskGroup() as tasks:
            # Raises an error, which cancels the command, if the workloads cannot run.
            ending = tasks.create_task(plane.ended())
            await command.run(kubeconfig)
            ending.cancel()


async def _serve(config: Config, stop: asyncio.Event) -> None:
    kubeconfig = Path(config.kubeconfig) if config.kubeconfig else _default_kubeconfig(config.data)
    async with _listening(config, kubeconfig) as plane:
        _reload_on_signal(plane)
        echo(f"kubeconfig: {kubeconfig}", err=True)
        echo(f"ready {plane.url}")
        plane.start_system(config.controllers)
        await plane.preload()
        # The objects of the startup stay alive; freezing them excludes them from later collections.
        gc.freeze()
        gc.enable()
        # The oldest generation holds several Python objects per stored object. A full collection takes tens of
        # milliseconds, during which no request is answered, and finds little garbage, so full collections are made
        # rare.
        gc.set_threshold(2000, 10, 200)
        await process.until(stop, plane.ended())


@asynccontextmanager
async def _listening(config: Config, kubeconfig: Path) -> "AsyncIterator[ControlPlane]":
    """Starts a control plane that listens, without its controllers, and writes its kubeconfig. Raises Failure."""
    from setpoint.config import plane_options
    from setpoint.config.checks import address
    from setpoint.plane import ControlPlane, PlaneError, Serving
    from setpoint.server.dashboard.settings import DashboardSettings
    from setpoint.session.controllers.page import ControllersPage
    from setpoint.store.contract import StoreError

    page = ControllersPage()
    serving = Serving(pages=[page], dashboard=DashboardSettings())
    host, port = address(config.listen) or ("", 0)
    try:
        # The controllers start after the server listens, so that clients need not wait for them.
        async with ControlPlane(config=config, system=False, serving=serving) as plane:
            page.plane = plane
            try:
                await plane.listen(host, port, tls=plane_options.tls(config), names=config.tls.names)
            except OSError as error:
                raise Failure(f"cannot listen on {host}:{port}: {_reason(error)}") from error
            if config.unix:
                await plane.listen_unix(config.unix)
            plane.write_kubeconfig(kubeconfig)
            yield plane
    except (PlaneError, StoreError, ValueError) as error:
        raise Failure(str(error)) from error
    except OSError as error:
        raise Failure(_reason(error)) from error


def _reload_on_signal(plane: Any) -> None:
    from setpoint.plane import PlaneError

    def on_signal() -> None:
        try:
            plane.reload()
        except PlaneError as error:
            _log.error("reload failed; the previous configuration stays in effect: %s", error)

    with suppress(AttributeError, NotImplementedError):  # Windows has no SIGHUP
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, on_signal)


def _reason(error: OSError) -> str:
    text = error.strerror or str(error)
    return f"{error.filename}: {text}" if error.filename else text


def _default_kubeconfig(data: str) -> Path:
    if data:
        return Path(data) / "kubeconfig"
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "setpoint" / "kubeconfig"
