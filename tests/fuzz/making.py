"""Makes test cases from a seed. The same seed, index and served paths make the same case."""

from collections.abc import Callable
from random import Random

from tests.fuzz import definitions, wire
from tests.fuzz.case import Case
from tests.fuzz.paths import Served, odd_request, options, own_request
from tests.server import chance
from tests.server.damage import Asked, damaged
from tests.server.recorded_requests import recorded

from setpoint.server.registry import builtin_resources

# Consecutive cases that share an object made at random, which takes as long to make as the server takes to refuse it.
SHARING = 8
USERS = (
    "admin",
    "admin",
    "admin",
    "admin",
    "admin",
    "admin",
    "admin",
    "tenant",
    "tenant",
    "reader",
    "anonymous",
    "stranger",
)
SOCKETS = ("exec", "attach", "portforward", "log")
# Kinds whose objects decide about the requests of everybody else. A run that keeps one tests little else, so only one
# in twenty of the requests for them is sent.
DECIDING = ("webhookconfigurations", "admissionpolic", "prioritylevel", "flowschemas", "apiservices")


class Maker:
    """Makes the cases of one run."""

    def __init__(self, seed: int, served: list[Served], plain: list[str]) -> None:
        self._seed = seed
        self._served = served
        self._plain = plain
        self._resources = [resource for resource in builtin_resources.resources() if "create" in resource.verbs]
        self._block = 0
        self._objects: dict[int, Asked] = {}
        self._scenarios = [scenario for scenario in recorded() if scenario]
        ways: dict[str, tuple[int, Callable[[Random], Asked]]] = {
            "recorded": (30, self._recorded),
            "object": (15, self._object),
            "path": (30, lambda random: odd_request(self._served, self._plain, random)),
            "own": (5, lambda random: own_request(self._served, random)),
            "definition": (4, definitions.request),
            "raw": (12, self._any),
            "pipeline": (3, self._any),
            "watch": (3, self._watch),
            "socket": (3, self._socket),
        }
        self._names = tuple(ways)
        self._weights = tuple(weight for weight, _ in ways.values())
        self._ways = {name: make for name, (_, make) in ways.items()}

    def case(self, index: int, tokens: dict[str, str]) -> Case:
        random = Random(self._seed << 32 | index)
        self._block = index // SHARING
        user = random.choice(USERS)
        [way] = random.choices(self._names, self._weights)
        asked = self._ways[way](random)
        if any(word in asked.path for word in DECIDING) and random.random() < 0.95:
            asked = odd_request(self._served, ["/version", "/openapi/v3", "/metrics"], random)
            asked = asked._replace(method="GET", body=None)
        if way in ("raw", "pipeline") and asked.method == "HEAD":
            asked = asked._replace(method="GET")  # the end of an answer to HEAD is known only to who knows the request
        data = wire.encoded(asked, tokens[user], random)
        if way == "raw":
            return Case(index, way, user, asked.method, asked.path, wire.broken(data, random), True)
        if way == "pipeline":
            parts = [data]
            for _ in range(random.randrange(1, 6)):
                further = self._any(random)
                method = "GET" if further.method == "HEAD" else further.method
                parts.append(wire.encoded(further._replace(method=method), tokens[user], random))
            place = random.randrange(len(parts))
            parts[place] = wire.broken(parts[place], random)
            return Case(index, way, user, asked.method, asked.path, b"".join(parts), True)
        frames = wire.frames(random) if way == "socket" else b""
        alone = bool(frames) or not wire.intact(asked)
        return Case(index, way, user, asked.method, asked.path, data, alone, frames)

    def _any(self, random: Random) -> Asked:
        return random.choice((self._recorded, self._object, self._watch))(random)

    def _recorded(self, random: Random) -> Asked:
        sound = random.choice(random.choice(self._scenarios))
        return damaged(sound, random) if random.random() < 0.7 else sound

    def _object(self, random: Random) -> Asked:
        asked = self._objects.get(self._block)
        if asked is None:
            base = Random(self._seed << 32 | self._block)
            asked = chance.request(base.choice(self._resources), base)
            self._objects = {self._block: asked}
        return damaged(asked, random) if random.random() < 0.6 else asked

    def _watch(self, random: Random) -> Asked:
        resource = random.choice(self._served)
        path = f"{resource.prefix}/{resource.name.partition('/')[0]}"
        query = (
            ("watch", random.choice(("true", "1", "zz"))),
            ("timeoutSeconds", random.choice(("1", "0", "-1", "zz"))),
        )
        return Asked("GET", path, (*query, *options(random)), {"accept": random.choice(chance.ACCEPTED)}, None)

    def _socket(self, random: Random) -> Asked:
        if random.random() < 0.5:
            asked = self._watch(random)
        else:
            path = f"/api/v1/namespaces/tenant/pods/o0/{random.choice(SOCKETS)}"
            asked = Asked("GET", path, (("command", "a"), ("stdin", "true"), *options(random)), {}, None)
        protocol = random.choice(
            ("v5.channel.k8s.io", "v4.channel.k8s.io", "portforward.k8s.io", "zz", "", "a,b", "\xff")
        )
        headers = {"upgrade": "websocket", "connection": "Upgrade", "sec-websocket-version": "13"}
        headers["sec-websocket-key"] = random.choice(("dGhlIHNhbXBsZSBub25jZQ==", "", "zz"))
        if protocol:
            headers["sec-websocket-protocol"] = protocol
        if random.random() < 0.2:
            headers[random.choice(tuple(headers))] = random.choice(("", "zz", "8", "SPDY/3.1"))
        return asked._replace(headers={**asked.headers, **headers})
