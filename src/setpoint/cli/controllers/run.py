"""`setpoint controllers run`: runs controllers on a cluster, as the container of an operator does."""

import logging
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.controllers.operator_modules import OperatorModules, load_modules, modules_argument, operator_name
from setpoint.cli.support.errors import Failure, explained

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.controller.webhook.server import WebhookServer

_log = logging.getLogger(__name__)


@click.command("run")
@modules_argument
@click.option("--kubeconfig", metavar="FILE", default="", help="Path to the kubeconfig file to use.")
@click.option("--context", metavar="NAME", default="", help="Name of the kubeconfig context to use.")
@click.option(
    "--leader-election", metavar="NAME", default="", help="Name of the lease; only one of several replicas works."
)
@click.option("--metrics", metavar="ADDRESS", default="", help="Address of the metrics, such as :8080.")
@click.option("--secure-metrics", is_flag=True, help="Serve metrics over TLS to authorized users only.")
@click.option("--health", metavar="ADDRESS", default="", help="Address of /healthz and /readyz, such as :8081.")
@click.option(
    "--webhook-service",
    metavar="NAMESPACE/NAME",
    default="",
    help="Service through which the API server calls webhooks.",
)
@click.option("--webhook-name", metavar="NAME", default="", help="Name of the webhook configurations.")
@click.option(
    "--webhook-address", metavar="ADDRESS", default=":9443", show_default=True, help="Address to serve webhooks at."
)
def run(modules: tuple[str, ...], kubeconfig: str, context: str, **how: Any) -> None:
    """Run controllers and webhooks on a cluster until SIGTERM or Ctrl-C.

    The cluster is that of --kubeconfig or $KUBECONFIG, of the pod, or of ~/.kube/config. The definitions of the kinds
    must be installed. `setpoint dev` suits development: it reloads changed files and installs the kinds.

    \b
      setpoint controllers run controllers/shop.py --leader-election shop --health :8081
    """
    from setpoint.controller.program import run_program

    loaded = load_modules(modules)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    with explained():
        run_program(_run(loaded, kubeconfig, context, how.pop("webhook_name") or operator_name(modules), **how))


async def _run(
    loaded: OperatorModules,
    kubeconfig: str,
    context: str,
    webhook_name: str,
    *,
    leader_election: str,
    webhook_service: str,
    webhook_address: str,
    **how: Any,
) -> None:
    import gc

    from setpoint.client.client import Client
    from setpoint.controller.manager import Manager
    from setpoint.controller.program import run_until_signal

    connected = Client.from_kubeconfig(kubeconfig, context) if kubeconfig else Client.connect(context=context)
    async with connected as client:
        try:
            webhooks = _webhooks(loaded, client, webhook_name, webhook_service, webhook_address)
            manager = Manager(
                client,
                controllers=loaded.controllers,
                leader_election=leader_election or None,
                webhooks=webhooks,
                **how,
            )
        except ValueError as error:
            raise Failure(str(error)) from None
        gc.freeze()  # excludes loaded modules from garbage collection
        await run_until_signal(manager, ends_process=True)


def _webhooks(
    loaded: OperatorModules, client: "Client", name: str, service: str, address: str
) -> "WebhookServer | None":
    from setpoint.controller.webhook.server import WebhookServer

    if not (loaded.webhooks or loaded.conversions):
        return None
    if not service:
        _log.warning("the webhooks of the modules are not served: set --webhook-service NAMESPACE/NAME")
        return None
    return WebhookServer(
        client, loaded.webhooks, conversions=loaded.conversions, name=name, service=service, address=address
    )
