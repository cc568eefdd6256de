"""An app file that is applied runs: ports, references, secrets, dependencies, tasks and probes do what it says."""

import asyncio
import sys
from pathlib import Path

from tests.app.apps import rendered, written
from tests.workload.app import app

from setpoint.app.changes import changes
from setpoint.client.patches import merge
from setpoint.workload.kinds.api_names import RESTART_REQUESTED

FILE = """
app: shop
env: {WHO: ada}
services:
  api:
    run: PYTHON -m http.server --bind 127.0.0.1 ${port.http}
    dir: api
    ports: {http: auto}
    ready: {http: /, every: 200ms}
    after: migrate
  web:
    run: echo "$WHO at ${services.api.url} with ${secret.key}, '${env.X:-y}' $$WHO" && exec sleep 600
    after: {api: ready}
  pair:
    run: PYTHON -m http.server --bind 127.0.0.1 ${port.http}
    ports: {http: auto}
    replicas: 2
    ready: {tcp: true, every: 200ms}
tasks:
  migrate: {run: "echo done > api/index.html"}
  by-hand: {run: "false"}
"""


async def test_an_app_runs_as_its_file_says(tmp_path: Path) -> None:
    (tmp_path / "api").mkdir()
    text = FILE.replace("PYTHON", sys.executable)
    old = rendered(written(tmp_path, text), {"KEY": "$1 'x' `y`"})
    async with app(tmp_path) as world:
        for tree in old:
            await world.client.create(tree)
        service = await world.ready("Service", "api-http")
        port = service["status"]["effectivePort"]
        await world.ready("Executable", "api")
        reader, writer = await asyncio.open_connection(service["status"]["effectiveAddress"], port)
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        assert (await reader.read()).endswith(b"done\n")
        writer.close()
        await writer.wait_closed()
        said = await world.first_line("web")
        assert said.startswith("ada at http://")
        assert said.endswith(f":{port} with $1 'x' `y`, 'y' ada")
        await world.ready("ExecutableReplicaSet", "pair")

        # A changed file changes what it has to, and nothing else.
        new = rendered(written(tmp_path, text.replace("WHO: ada", "WHO: grace")), {"KEY": "$1 'x' `y`"})
        pid = (await world.get("Executable", "web"))["status"]["pid"]
        [change] = [each for each in changes(old, new) if each.name == "web"]
        assert (change.effect, change.fields) == ("restart", ("spec.env[WHO].value",))
        assert change.new is not None
        spec = {"spec": change.new["spec"], "metadata": {"annotations": {RESTART_REQUESTED: "1"}}}
        await world.client.patch(f"{change.new['apiVersion']}/{change.kind}", merge(spec), change.name)
        await world.until("Executable", "web", lambda tree: tree["status"].get("pid") not in (None, pid))
        async with asyncio.timeout(10):
            while "grace at" not in await world.log("web"):
                await asyncio.sleep(0.01)
