"""RBAC against an evaluator that reads plain objects, rule by rule, as the documentation tells it.

Random roles, bindings, users and requests; between the questions, roles and bindings come, change and go.
"""

import random
from collections.abc import Iterator

import pytest
from tests.server.authorization.cluster import Cluster

from setpoint.objects.provenance import Actor
from setpoint.objects.tree import Object
from setpoint.server.ports import User
from setpoint.server.requestinfo import RequestInfo
from setpoint.store.contract import ANY, Write

# Runs hundreds of random cases.
pytestmark = pytest.mark.slow

USERS = ["ann", "bob", "cid", "system:serviceaccount:one:robot", "system:serviceaccount:two:robot"]
GROUPS = ["dev", "ops", "system:serviceaccounts", "system:serviceaccounts:one"]
NAMESPACES = ["one", "two"]
VERBS = ["get", "list", "create", "delete", "escalate"]
API_GROUPS = ["", "apps", "example.com"]
RESOURCES = ["pods", "secrets", "widgets"]
SUBRESOURCES = ["status", "log", "scale"]
NAMES = ["a", "b", "c"]
PATHS = ["/healthz", "/healthz/etcd", "/api", "/apis/apps", "/metrics", "/", "/apis"]
ROLES = ["r1", "r2", "r3", "r4"]
TESTER = Actor("tester")


def allowed(objects: dict[str, Object], user: User, info: RequestInfo) -> bool:
    """The answer, found the long way: every binding is read, every rule of its role, every word of it."""
    for tree in objects.values():
        if not tree["kind"].endswith("Binding"):
            continue
        namespace = tree["metadata"].get("namespace", "")
        if namespace and namespace != info.namespace:
            continue
        if not any(_is_meant(subject, namespace, user) for subject in tree.get("subjects", [])):
            continue
        for one in _rules(objects, tree["roleRef"], namespace):
            if _permits(one, info):
                return True
    return False


def _is_meant(subject: Object, namespace: str, user: User) -> bool:
    if subject["kind"] == "User":
        return bool(subject["name"] == user.name)
    if subject["kind"] == "Group":
        return subject["name"] in user.groups
    where = subject.get("namespace") or namespace
    return bool(where) and f"system:serviceaccount:{where}:{subject['name']}" == user.name


def _rules(objects: dict[str, Object], reference: Object, namespace: str) -> list[Object]:
    for tree in objects.values():
        where = tree["metadata"].get("namespace", "")
        wanted = namespace if reference["kind"] == "Role" else ""
        if tree["kind"] == reference["kind"] and tree["metadata"]["name"] == reference["name"] and where == wanted:
            found: list[Object] = tree.get("rules") or []
            return found
    return []


def _permits(one: Object, info: RequestInfo) -> bool:
    if not any(verb in ("*", info.verb) for verb in one["verbs"]):
        return False
    if not info.is_resource:
        for url in one.get("nonResourceURLs", []):
            if url in ("*", info.path):
                return True
            if url.endswith("*") and info.path[: len(url.rstrip("*"))] == url.rstrip("*"):
                return True
        return False
    if not any(group in ("*", info.group) for group in one.get("apiGroups", [])):
        return False
    names = one.get("resourceNames", [])
    if names and info.name not in names:
        return False
    for resource in one.get("resources", []):
        if resource == "*":
            return True
        if info.subresource:
            if resource in (f"{info.resource}/{info.subresource}", f"*/{info.subresource}"):
                return True
        elif resource == info.resource:
            return True
    return False


class World:
    """The roles and bindings of a server, and the same as plain objects."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.cluster = cluster
        self.random = random.Random(seed)
        self.objects: dict[str, Object] = {}

    async def change(self) -> None:
        """Something is created, replaced or deleted."""
        chance = self.random
        if self.objects and chance.random() < 0.3:
            await self._write(chance.choice(sorted(self.objects)), None)
        kind = chance.choice(["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"])
        namespace = "" if kind.startswith("Cluster") else chance.choice(NAMESPACES)
        name = chance.choice(ROLES if kind.endswith("Role") else [f"b{number}" for number in range(8)])
        tree = self._role(kind, namespace) if kind.endswith("Role") else self._binding(kind, namespace)
        tree["metadata"] = {"name": name, "uid": "u"} | ({"namespace": namespace} if namespace else {})
        resource = self.cluster.server.services.registry.resource("rbac.authorization.k8s.io", "v1", f"{kind.lower()}s")
        assert resource is not None
        await self._write(resource.storage.key(namespace, name), tree, resource.encode(tree))

    async def _write(self, key: str, tree: Object | None, value: bytes | None = None) -> None:
        await self.cluster.server.services.transact([Write(key, value, ANY)], TESTER)
        if tree is None:
            self.objects.pop(key)
        else:
            self.objects[key] = tree

    def _some(self, words: list[str], *special: str, most: int = 3) -> list[str]:
        return self.random.sample([*words, *special], self.random.randint(1, most))

    def _role(self, kind: str, namespace: str) -> Object:
        rules = [self._rule(is_cluster=not namespace) for _ in range(self.random.randint(0, 4))]
        return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "rules": rules}

    def _rule(self, *, is_cluster: bool) -> Object:
        verbs = self._some(VERBS, "*")
        if is_cluster and self.random.random() < 0.4:
            return {"verbs": verbs, "nonResourceURLs": self._some(PATHS, "*", "/healthz/*", "/apis/*", "/api*")}
        subresources = [f"{one}/{two}" for one in [*RESOURCES, "*"] for two in SUBRESOURCES]
        found: Object = {
            "verbs": verbs,
            "apiGroups": self._some(API_GROUPS, "*", most=2),
            "resources": self._some(RESOURCES, "*", *subresources),
        }
        if self.random.random() < 0.3:
            found["resourceNames"] = self._some(NAMES)
        return found

    def _binding(self, kind: str, namespace: str) -> Object:
        role_kind = self.random.choice(["Role", "ClusterRole"]) if namespace else "ClusterRole"
        return {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": kind,
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": role_kind,
                "name": self.random.choice(ROLES),
            },
            "subjects": [self._subject(namespace) for _ in range(self.random.randint(0, 3))],
        }

    def _subject(self, namespace: str) -> Object:
        kind = self.random.choice(["User", "Group", "ServiceAccount"])
        if kind == "ServiceAccount":
            found = {"kind": kind, "name": "robot"}
            return found | ({} if self.random.random() < 0.5 else {"namespace": self.random.choice(NAMESPACES)})
        return {"kind": kind, "name": self.random.choice(USERS if kind == "User" else GROUPS)}

    def questions(self, count: int) -> Iterator[tuple[User, RequestInfo]]:
        chance = self.random
        for _ in range(count):
            user = User(chance.choice(USERS), tuple(chance.sample(GROUPS, chance.randint(0, 2))))
            verb = chance.choice(VERBS)
            if chance.random() < 0.2:
                yield user, RequestInfo(verb, chance.choice(PATHS))
                continue
            yield (
                user,
                RequestInfo(
                    verb,
                    "",
                    is_resource=True,
                    group=chance.choice(API_GROUPS),
                    version="v1",
                    namespace=chance.choice(["", *NAMESPACES]),
                    resource=chance.choice(RESOURCES),
                    name=chance.choice(["", *NAMES]),
                    subresource=chance.choice(["", "", *SUBRESOURCES]),
                ),
            )


@pytest.mark.parametrize("seed", range(8))
async def test_every_decision_is_that_of_an_evaluator_that_reads_the_objects(seed: int) -> None:
    async def main() -> dict[bool, int]:
        cluster = Cluster()
        world, services = World(cluster, seed), cluster.server.services
        await services.authorizer.prepare()
        counts = {True: 0, False: 0}
        for _ in range(14):
            await world.change()
        for _ in range(250):
            await world.change()
            for user, info in world.questions(26):
                decision = services.authorizer.decide(user, info)
                assert decision.allowed is allowed(world.objects, user, info), (user, info, decision)
                counts[decision.allowed] += 1
        return counts

    counts = await main()
    assert sum(counts.values()) == 6500
    # Neither answer is rare: a decider that always says the same would not get far.
    assert min(counts.values()) > 500
