"""`setpoint down --volumes`: removes the volumes of an app, which otherwise stay for the next session."""

import os
from typing import TYPE_CHECKING

from setpoint.cli.output.terminal import echo
from setpoint.cli.support.errors import FAILED, Failure
from setpoint.workload.kinds.api_names import GROUP, REMOVE_VOLUME, VERSION

if TYPE_CHECKING:
    from setpoint.client.client import Client

_KIND = f"{GROUP}/{VERSION}/ContainerVolume"


async def mark_volumes(client: "Client") -> None:
    """Requests that the volumes of a session are removed with their objects, except external ones."""
    from setpoint.client.patches import merge

    for tree in (await client.list(_KIND)).items:
        patch = merge({"metadata": {"annotations": {REMOVE_VOLUME: "true"}}})
        await client.patch(_KIND, patch, tree["metadata"]["name"])


async def remove_unused_volumes() -> None:
    """Removes the volumes of the app of this directory, which is not running. Raises Failure."""
    from setpoint.cli.app.app_file import find_file, read_file
    from setpoint.objects.clock import SystemClock
    from setpoint.workload.engine.choice import connect
    from setpoint.workload.engine.engine import Engine
    from setpoint.workload.engine.errors import EngineError

    objects = read_file(find_file(""), os.environ, on_this_machine=False).objects
    specs = [tree["spec"] for tree in objects if tree["kind"] == "ContainerVolume"]
    names = [spec["name"] for spec in specs if not spec.get("existing")]
    if not names:
        return
    engine = await connect(SystemClock(), os.environ, starts=True)
    if not isinstance(engine, Engine):
        raise Failure(f"the volumes {', '.join(names)} cannot be removed: {engine}", FAILED)
    try:
        for name in names:
            if await engine.volumes.find(name) is not None:
                await engine.volumes.remove(name)
                echo(f"removed the volume {name}")
    except EngineError as error:
        raise Failure(f"cannot remove the volume {name}: {error.message}", FAILED) from None
    finally:
        await engine.close()
