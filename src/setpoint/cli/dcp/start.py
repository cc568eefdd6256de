"""`start-apiserver`: runs an instance in one process, from writing its kubeconfig to stopping its last workload.

The kubeconfig is written when the server and the controllers are ready; if either fails to start, the command prints
the reason, sends the reason to the log, and exits. With `--detach`, the command checks its arguments, starts the
instance as another process, and returns; a client waits for the kubeconfig, as with DCP. The instance ends on a
signal, on a request at `/admin/execution`, or when the monitored process ends, after cleaning up all workloads.
"""

import asyncio
import gc
import logging
import os
import sys
from collections.abc import Coroutine, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from setpoint import process
from setpoint.cli.dcp import diagnostics, variables
from setpoint.cli.dcp.information import runtime_option
from setpoint.cli.dcp.kubeconfig_handover import PLACEHOLDER, check_free, published_kubeconfig
from setpoint.cli.dcp.process_monitor import monitor_options, monitored
from setpoint.cli.support.errors import Failure
from setpoint.objects.clock import SystemClock
from setpoint.workload.process import detached_process
from setpoint.workload.process.exit_wait import wait_exit

if TYPE_CHECKING:
    from setpoint.cli.dcp.server_only import ServerOnly
    from setpoint.config.settings import Config
    from setpoint.plane import ControlPlane
    from setpoint.workload.process.identity import Identity

# The time for which a client may read no part of a stream. By default a server closes the stream much earlier.
_PAUSE_SECONDS = 24 * 3600.0

_log = logging.getLogger(__name__)


@click.command()
@click.option("--kubeconfig", metavar="FILE", default="", help="Path of the kubeconfig to write; must not exist.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on; 0 picks a free one.")
@click.option("--tls-cert-file", metavar="FILE", default="", help="Server certificate (PEM).")
@click.option("--tls-key-file", metavar="FILE", default="", help="Private key of the certificate (PEM).")
@click.option("--tls-ca-file", metavar="FILE", default="", help="Certificate authority of the certificate (PEM).")
@click.option(
    "--tls-cert-thumbprint", metavar="TEXT", default="", help="Windows only: use the certificate files instead."
)
@click.option("-r", "--root-dir", metavar="DIRECTORY", default="", help="Base directory of relative paths.")
@click.option(
    "--detach", is_flag=True, help="Run in the background; return at once. The kubeconfig is written when ready."
)
@click.option("--server-only", is_flag=True, help="Serve the API without controllers; run them with `run-controllers`.")
@click.option("--workload-id", metavar="ID", default=None, help="ID under which persistent resources are recorded.")
@runtime_option
@monitor_options()
@click.option("-v", "--verbosity", metavar="LEVEL", default="", help="Log level: debug, info, error or a number.")
def start_apiserver(**flags: Any) -> None:
    """Serve DCP's API and run the workloads of its objects."""
    if flags["tls_cert_thumbprint"]:
        raise Failure("no certificate store on this system: use --tls-cert-file and --tls-key-file")
    kubeconfig = variables.kubeconfig_path(flags["kubeconfig"], os.environ).absolute()
    check_free(kubeconfig)
    variables.workload_id(flags["workload_id"], os.environ)
    watched = monitored(flags)
    if flags["detach"]:
        _detach(click.get_current_context())
        return
    diagnostics.set_up(flags["verbosity"], os.environ)
    # Startup creates hardly any garbage.
    gc.disable()
    try:
        sys.exit(process.run(lambda stop: _run(kubeconfig, watched, flags, stop)))
    except Failure as failure:
        diagnostics.report(failure, os.environ)
        raise


async def _run(kubeconfig: Path, watched: "Identity | None", flags: Mapping[str, Any], stop: asyncio.Event) -> None:
    from setpoint.cli.dcp.certificate import given_certificate
    from setpoint.cli.dcp.served_kinds import STRATEGIES, is_shown
    from setpoint.cli.dcp.startup_spans import StartupSpans
    from setpoint.objects.ids import SystemIds
    from setpoint.plane import ControlPlane, PlaneError, Serving

    spans = StartupSpans(os.environ, SystemClock(), SystemIds())
    who = {"process.pid": os.getpid(), "process.ppid": os.getppid(), "dcp.server_only": flags["server_only"]}
    spans.begin("dcp.startup", who)
    host, token = variables.host(os.environ), os.environ.get(variables.TOKEN, "")
    given = given_certificate(flags["tls_cert_file"], flags["tls_key_file"], flags["tls_ca_file"], host, SystemClock())
    root = Path(flags["root_dir"] or Path.cwd()).absolute()
    with ExitStack() as stack:
        session = stack.enter_context(variables.session(os.environ))
        settings = False if flags["server_only"] else variables.workload_settings(session.folder, root, flags)
        try:
            alone = _server_only(session) if flags["server_only"] else None
            serving = alone.serving if alone is not None else Serving(strategies=STRATEGIES, shows=is_shown)
            admission = alone.admission if alone is not None else ()
            spans.begin("dcp.startup.api_server.build_config")
            async with ControlPlane(
                "memory", config=configuration(), token=token, workloads=settings, serving=serving, admission=admission
            ) as plane:
                spans.end()
                spans.begin("dcp.startup.api_server.run_server")
                address = given.host if given is not None else host
                url = await _listen(plane, address, flags["port"], given.files if given is not None else True)
                port = int(url.rpartition(":")[2])
                spans.event(
                    "dcp.startup.api_server.ready", {"dcp.server.bind_address": address, "dcp.server.bind_port": port}
                )
                spans.end()
                if alone is not None:
                    await alone.begin(plane)
                await plane.workloads_started()
                authority = given.authority if given is not None else plane.authority
                spans.begin("dcp.startup.api_server.kubeconfig_save", {"dcp.kubeconfig.path": str(kubeconfig)})
                stack.enter_context(
                    published_kubeconfig(kubeconfig, url, authority, PLACEHOLDER if token else plane.token)
                )
                spans.end()
                spans.end()
                sending = asyncio.ensure_future(spans.send())
                gc.freeze()
                gc.enable()
                _log.info("serving at %s; kubeconfig: %s", url, kubeconfig)
                reasons: dict[str, Coroutine[Any, Any, Any]] = {"received a signal": stop.wait()}
                if watched is not None:
                    gone = wait_exit(watched, SystemClock(), flags["monitor_interval"])
                    reasons["the process that was watched is gone"] = gone
                await process.until_ended(plane if alone is None else alone, reasons)
                if alone is not None:
                    await alone.close()
                await sending
        except PlaneError as error:
            raise Failure(str(error)) from error
        except OSError as error:
            raise Failure(f"{error.filename or kubeconfig}: {error.strerror or error}") from error


def configuration() -> "Config":
    """Returns the settings of an instance. A client that a debugger has paused reads no logs, and keeps its streams."""
    from setpoint.config.settings import Config, Limits

    return Config(limits=Limits(stalled_seconds=_PAUSE_SECONDS))


def _server_only(session: variables.SessionFolder) -> "ServerOnly":
    from setpoint.cli.dcp.server_only import ServerOnly

    return ServerOnly(session)


async def _listen(plane: "ControlPlane", host: str, port: int, tls: Any) -> str:
    try:
        url = await plane.listen(host, port, tls=tls)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise Failure(f"cannot listen on {host}:{port}: {why}") from error
    # Uses the host name of the certificate.
    return url if ":" in host else f"https://{host}:{url.rpartition(':')[2]}"


def _detach(context: click.Context) -> None:
    """Starts this command as a detached process."""
    command = [sys.executable, "-m", "setpoint.cli.dcp", "start-apiserver"]
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if parameter.name == "detach" or value in (None, "", False):
            continue
        command.append(max(parameter.opts, key=len))
        command += [] if value is True else [str(value)]
    if verbosity := context.meta.get(diagnostics.VERBOSITY):
        command[3:3] = ["--verbosity", verbosity]
    detached_process.stop_tracking(detached_process.start(command))
