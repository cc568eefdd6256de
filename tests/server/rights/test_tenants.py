"""Tenants take over each other's namespaces and read at any revision in any way: each reads only what was theirs."""

import asyncio
import base64
import random
from collections.abc import AsyncIterator

import msgspec
import pytest
from tests.server.authorization.cluster import Cluster
from tests.server.read.reader import MemorySink, OpenWatch
from tests.server.rights.tenancy import HISTORY_RULE, Estate, secret, secrets

TENANTS = ["ann", "ben", "cat", "dan"]
ROOMS = ["red", "blue"]
NAMES = ["a", "b", "c"]
OWN = "/apis/setpoint.dev/v1"
STEPS = 150


class Tenancy:
    """A random run. Every Secret says whose it is; whoever reads one that is somebody else's has found a hole."""

    def __init__(self, estate: Estate, chance: random.Random) -> None:
        self.estate = estate
        self.chance = chance
        # The tenant of each room, and the tokens that lists have ended with, whoever got them.
        self.owners: dict[str, str] = {}
        self.tokens: list[str] = []
        # How many answers were read, and how many of them had Secrets.
        self.answers = self.found = 0

    async def step(self) -> None:
        estate, chance = self.estate, self.chance
        room = chance.choice(ROOMS)
        owner = self.owners.get(room)
        await asyncio.sleep(0)
        if owner is None:
            self.owners[room] = owner = chance.choice(TENANTS)
            await estate.open(room, owner, *([HISTORY_RULE] if chance.random() < 0.5 else []))
        elif chance.random() < 0.08:
            await estate.close(room)
            del self.owners[room]
        elif chance.random() < 0.5:
            path, name = secrets(room), chance.choice(NAMES)
            await estate.ask("DELETE", f"{path}/{name}", user=owner)
            await estate.ask("POST", path, secret(name, f"belongs to {owner}"), 201, user=owner)
        else:
            estate.cluster.clock.advance(chance.choice([0, 1, 200, 400]))
        for _ in range(3):
            place = chance.choice(ROOMS)
            # Mostly those who have some right at present; now and then those who had one.
            await self.check(self.owners.get(place) or chance.choice(TENANTS), place)
            await self.check(chance.choice(TENANTS), place)

    async def check(self, reader: str, room: str) -> None:
        """Lets a tenant read, and looks for what is not theirs."""
        async for text in self.reads(reader, room):
            self.answers += 1
            for other in TENANTS:
                # A Secret has its text in base64; the patches of a history too.
                words = [_encoded(f"belongs to {other}"), f"belongs to {other}"]
                if other == reader:
                    self.found += any(word in text for word in words)
                else:
                    assert not any(word in text for word in words), (reader, other, text)

    async def reads(self, reader: str, room: str) -> AsyncIterator[str]:
        """Reads a room in one of the many ways, at any revision; yields what comes back."""
        chance, cluster = self.chance, self.estate.cluster
        revision = str(chance.randint(1, int(await self.estate.revision())))
        path, name = secrets(room), chance.choice(NAMES)
        ways: list[tuple[str, dict[str, str]]] = [
            (path, {}),
            (path, {"limit": "1"}),
            (path, {"at": revision}),
            (path, {"at": revision, "limit": "1"}),
            (path, {"resourceVersion": revision, "resourceVersionMatch": "Exact"}),
            (path, {"resourceVersion": revision, "limit": "2"}),
            (path, {"continue": chance.choice(self.tokens)} if self.tokens else {}),
            (path, {"watch": "true", "resourceVersion": revision}),
            (path, {"watch": "true"}),
            (f"/api/v1/watch/namespaces/{room}/secrets", {"resourceVersion": revision}),
            (f"/api/v1/watch/namespaces/{room}/secrets/{name}", {"resourceVersion": revision}),
            (f"{path}/{name}", {}),
            (f"{path}/{name}", {"at": revision}),
            (f"{OWN}/namespaces/{room}/secrets/{name}/history", {}),
            (f"{OWN}/namespaces/{room}/secrets/{name}/history", {"continue": revision}),
            (f"{OWN}/namespaces/{room}/revisions", {"objects": "true"}),
            (f"{OWN}/revisions", {"objects": "true"}),
            ("/api/v1/secrets", {"at": revision}),
        ]
        where, query = chance.choice(ways)
        response = await cluster.respond("GET", where, user=reader, **query)
        if isinstance(response.body, bytes):
            yield response.body.decode()
            if response.status == 200 and (token := _token(response.body)):
                self.tokens.append(token)
            return
        watch = OpenWatch(response.body, MemorySink())  # type: ignore[arg-type]
        for _ in range(30):
            await asyncio.sleep(0)
        watch.sink.close()
        await watch.task
        for event in watch.sink.events:
            yield str(event)


def _token(body: bytes) -> str:
    tree = msgspec.json.decode(body)
    return str(tree.get("metadata", {}).get("continue") or "")


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize("seed", range(6))
async def test_nobody_reads_what_was_somebody_elses(seed: int) -> None:
    cluster = Cluster()
    await cluster.server.start()
    tenancy = Tenancy(Estate(cluster), random.Random(seed))
    for _ in range(STEPS):
        await tenancy.step()
    # They do read what is theirs, or the test would say nothing.
    assert tenancy.found > 20, tenancy.answers
