"""`setpoint controllers migrate`: rewrites objects in the storage version of their definition."""

import click

from setpoint.cli.output.terminal import echo
from setpoint.cli.output.words import counted
from setpoint.cli.support.connection import Server, connect, run, server_options


@click.command()
@click.argument("definitions", metavar="CRD...", nargs=-1, required=True)
@server_options
def migrate(definitions: tuple[str, ...], server: Server) -> None:
    """Rewrite all objects of CustomResourceDefinitions in their storage version.

    Run this command after an upgrade that changed the storage version; then the old version can be removed from the
    definition.

    \b
      setpoint controllers migrate shops.example.com
    """
    run(_migrate(definitions, server))


async def _migrate(definitions: tuple[str, ...], server: Server) -> None:
    from setpoint.client.storage_migration import migrate_storage

    async with connect(server) as client:
        for name in definitions:
            count = await migrate_storage(client, name)
            echo(f"{name}: {counted(count, 'object')} rewritten")
