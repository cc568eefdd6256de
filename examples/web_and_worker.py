"""A small app as objects: a web server, a worker that talks to it through a Service, and a task that runs first.

    python examples/web_and_worker.py

The worker may be created before anybody serves: it waits for the task, and its requests wait for the server.
"""

import asyncio
import sys
from typing import Any

import setpoint as sp

GROUP = "usvc-dev.developer.microsoft.com/v1"
WEB = """
import http.server, sys

class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(open("greeting").read().encode())

    def log_message(self, *words): pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Page).serve_forever()
"""
WORKER = "import os, urllib.request; print(urllib.request.urlopen(os.environ['WEB']).read().decode())"
PREPARE = "open('greeting', 'w').write('hello from the web')"


def executable(name: str, code: str, *args: str, **spec: Any) -> dict[str, Any]:
    """An Executable that runs some Python."""
    spec = {"executablePath": sys.executable, "args": ["-c", code, *args], **spec}
    return {"apiVersion": GROUP, "kind": "Executable", "metadata": {"name": name}, "spec": spec}


async def main(directory: str) -> None:
    prepared = [{"kind": "Executable", "name": "prepare", "condition": "Succeeded"}]
    app: list[dict[str, Any]] = [
        executable(
            "worker",
            WORKER,
            env=[{"name": "WEB", "value": '{{ urlFor "web" }}'}, {"name": "NO_PROXY", "value": "*"}],
            dependsOn=prepared,
        ),
        executable(
            "web",
            WEB,
            '{{ portForServing "web" }}',
            workingDirectory=directory,
            serves=[{"service": "web"}],
            dependsOn=prepared,
        ),
        {"apiVersion": GROUP, "kind": "Service", "metadata": {"name": "web"}, "spec": {}},
        executable("prepare", PREPARE, workingDirectory=directory),
    ]
    async with sp.ControlPlane(workloads=True) as plane, plane.client() as client:
        for tree in app:
            await client.create(tree)
        done = await client.wait_for(f"{GROUP}/Executable", "worker", until="jsonpath={.status.state}=Finished")
        assert done is not None
        print(f"the worker ended with {done['status']['exitCode']}")
        print((await plane.workloads.machine.logs.tail(done["metadata"]["uid"], "stdout")).strip())
        web = await client.get(f"{GROUP}/Executable", "web")
        print(f"the web server is {web['status']['state']}")


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        asyncio.run(main(place))
