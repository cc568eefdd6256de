"""What authorization costs: a decision among 10,000 bindings, a create with RBAC beside one without, the first start.

python -m bench rbac
"""

import asyncio
import time
from collections.abc import Iterable

from bench.figure import Figure, in_turns
from bench.server import CONFIG_MAPS, config_map
from setpoint.objects.provenance import Actor
from setpoint.objects.tree import Object
from setpoint.server.access.authentication.credentials import Credentials
from setpoint.server.access.authorization.modes import AlwaysAllow
from setpoint.server.access.authorization.rbac import RBAC
from setpoint.server.app import Server
from setpoint.server.message import Request
from setpoint.server.ports import User
from setpoint.server.request.context import Authorizer
from setpoint.server.requestinfo import request_info
from setpoint.server.server_options import AccessControl
from setpoint.store.contract import Write
from setpoint.store.memory import MemoryStore

BINDINGS = 10_000
NAMESPACES = 100
REQUESTS = 300
ROUNDS = 9
GROUP = "rbac.authorization.k8s.io"
ANN = User("user-4999", ("team-7", "system:authenticated"))


def figures() -> Iterable[Figure]:
    with asyncio.Runner() as runner:
        yield from _decisions(runner)
        yield _creates(runner)
        yield _starts(runner)


def _decisions(runner: asyncio.Runner) -> Iterable[Figure]:
    server = runner.run(_crowded(None))
    authorizer = server.services.authorizer
    requests = [
        request_info("GET", f"/api/v1/namespaces/ns-{number % NAMESPACES}/configmaps/c{number}")
        for number in range(1000)
    ]

    def known() -> float:
        start = time.process_time()
        for info in requests:
            authorizer.decide(ANN, info)
        return (time.process_time() - start) / len(requests) * 1e6

    def new() -> float:
        start = time.process_time()
        for number, info in enumerate(requests):
            authorizer.decide(ANN, info._replace(resource=f"kind-{number}-{start}"))
        return (time.process_time() - start) / len(requests) * 1e6

    async def written() -> float:
        start = time.process_time()
        for number in range(REQUESTS):
            await _put(server, [_binding(f"changing-{number % 3}", f"user-{number}", "ns-0")])
            authorizer.decide(ANN, requests[number])
        return (time.process_time() - start) / REQUESTS * 1e6

    first, second, third = in_turns(ROUNDS, known, new, lambda: runner.run(written()))
    yield Figure("a decision with 10,000 bindings, asked before", first, "µs", aim="< 5 µs", met=first < 5)
    yield Figure("a decision with 10,000 bindings, never asked before", second, "µs", aim="< 15 µs", met=second < 15)
    yield Figure("a binding changes, and the next decision", third, "µs")


def _creates(runner: asyncio.Runner) -> Figure:
    allowing, deciding = runner.run(_crowded(AlwaysAllow())), runner.run(_crowded(RBAC()))
    made = 0

    async def creating(server: Server) -> float:
        nonlocal made
        start = time.process_time()
        for _ in range(REQUESTS):
            made += 1
            headers = {"content-type": "application/json", "authorization": "Bearer ann"}
            response = await server(Request("POST", CONFIG_MAPS, "", headers, config_map(f"made-{made}", "0")))
            assert response.status == 201, response.body
        return (time.process_time() - start) / REQUESTS

    plain, ours = in_turns(ROUNDS, lambda: runner.run(creating(allowing)), lambda: runner.run(creating(deciding)))
    return Figure(
        "creates with RBAC and 10,000 bindings, by an ordinary user",
        1 / ours,
        "a second",
        "AlwaysAllow",
        1 / plain,
        aim=">= 0.85x",
        met=plain / ours >= 0.85,
    )


def _starts(runner: asyncio.Runner) -> Figure:
    async def starting(is_whole: bool) -> float:
        server = Server(MemoryStore())
        if not is_whole:

            async def nothing() -> None:
                """As if there were no default roles."""

            server._authorization.provide = nothing  # type: ignore[method-assign]
        start = time.process_time()
        await server.start()
        return (time.process_time() - start) * 1e3

    without, whole = in_turns(ROUNDS, lambda: runner.run(starting(False)), lambda: runner.run(starting(True)))
    return Figure("the first start of a server, with its default roles", whole, "ms", "without them", without)


async def _crowded(authorizer: Authorizer | None) -> Server:
    """A server with many bindings, one of them Ann's."""
    access = AccessControl(Credentials({"ann": ANN}), authorizer=authorizer)
    server = Server(MemoryStore(), access=access)
    await server.start()
    rules = [{"verbs": ["get", "list", "create"], "apiGroups": [""], "resources": ["configmaps", "pods"]}]
    trees: list[Object] = [_object("ClusterRole", "writer", "", rules=rules), _binding("ann", ANN.name, "default")]
    for number in range(BINDINGS):
        namespace = f"ns-{number % NAMESPACES}" if number % 10 else ""
        trees.append(_binding(f"b-{number}", f"user-{number}", namespace))
    await _put(server, trees)
    await server.services.authorizer.prepare()
    return server


async def _put(server: Server, trees: list[Object]) -> None:
    writes = []
    for tree in trees:
        resource = server.services.registry.resource(GROUP, "v1", f"{tree['kind'].lower()}s")
        assert resource is not None
        metadata = tree["metadata"]
        writes.append(
            Write(resource.storage.key(metadata.get("namespace", ""), metadata["name"]), resource.encode(tree))
        )
    await server.services.transact(writes, Actor("bench"))


def _object(kind: str, name: str, namespace: str, **fields: object) -> Object:
    metadata = {"name": name, "uid": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata, **fields}


def _binding(name: str, user: str, namespace: str) -> Object:
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    role = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "writer"}
    return _object(kind, name, namespace, roleRef=role, subjects=[{"kind": "User", "apiGroup": GROUP, "name": user}])
