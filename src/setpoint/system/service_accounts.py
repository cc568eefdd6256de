"""Maintains the service account `default` of every namespace: created with the namespace, and again after a
deletion."""

from contextlib import suppress

from setpoint.client.client import Client
from setpoint.client.kinds import metadata_only
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.predicate import deleted
from setpoint.controller.request import Request
from setpoint.objects.errors import AlreadyExists
from setpoint.system.controller_host import ControllerHost
from setpoint.system.every_namespace import create_in, namespace_controller

NAME = "service-account-controller"


def default_service_accounts(client: Client) -> Controller:
    """Returns the controller, which writes as the user of `client`."""

    async def reconcile(ctx: Context, request: Request) -> None:
        if ctx.lookup(accounts, "default", request.name) is not None:
            return
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        with suppress(AlreadyExists):
            await create_in(client.with_options(cause=ctx.cause), request.name, account)

    accounts = metadata_only("v1/ServiceAccount")
    return namespace_controller(NAME, reconcile, client.clock, accounts, "default", deleted)


async def start(host: ControllerHost) -> None:
    """Starts the controller."""
    await host.control(default_service_accounts(host.client))
