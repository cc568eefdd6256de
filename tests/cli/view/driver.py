"""Runs an app and shows it, in one process: `python -m tests.cli.view.driver DIRECTORY [SETTING=true...]`.

It says in the end how the view ended.
"""

import asyncio
import logging
import os
import sys
from pathlib import Path

import setpoint as sp
from setpoint.app.loader import load_app
from setpoint.cli.app.view.app_view import watch_app
from setpoint.cli.app.view.parts import parts_of
from setpoint.cli.app.view.view_settings import ViewSettings
from setpoint.cli.output.terminal import terminal
from setpoint.workload.workloads import WorkloadSettings


async def main(directory: Path, asked: set[str]) -> None:
    # What the control plane has to say is not for the terminal: in a session it is a process of its own.
    logging.basicConfig(filename=directory / "log")
    settings = WorkloadSettings(directory / "run", records=directory / "records.sqlite3", working_directory=directory)
    loaded = load_app(directory / "setpoint.yaml", os.environ)
    async with sp.ControlPlane("memory", workloads=settings) as plane, plane.client() as client:
        began = client.clock.now()
        for tree in loaded.objects:
            await client.create(tree)
        view = ViewSettings(
            loaded.app.app,
            "shop-3f2a",
            parts=parts_of(loaded.app),
            joined="joined" in asked,
            until_ready="until_ready" in asked,
            logs="quiet" not in asked,
            began=None if "joined" in asked else began,
        )
        if "broken" in asked:
            # What ought not to happen.
            loaded.app.services.clear()
            view = view._replace(parts=(None,))  # type: ignore[arg-type]
        seconds = 0.5 if "impatient" in asked else None
        outcome = await watch_app(client, view, place=terminal(), seconds=seconds)
        (directory / "ended").touch()
    sys.stdout.write(f"outcome {' '.join((outcome.how, *outcome.failed))}\n")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), set(sys.argv[2:])))
