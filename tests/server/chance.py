"""Objects of the built-in kinds made by chance: of the right types for the most part, with values that mean something
somewhere, and seldom where they stand."""

from random import Random

from tests.server.damage import JUNK, Asked

from setpoint.objects.tree import Json, Object, copy
from setpoint.schema import builtin
from setpoint.server.registry.resource import Resource

TEXTS = (
    *("", "a", "app", "x-y", "Always", "Never", "1", "80", "http", "TCP", "50%", "1Gi", "100m", "-1", "0.5", "1e400"),
    *(
        "10.0.0.1",
        "fd00::1",
        "10.0.0.0/8",
        "a.b.c",
        "a/b",
        "*",
        "true",
        "ü",
        "\0",
        "\n",
        "x" * 70,
        "x" * 260,
        "/a/../b",
    ),
    *(
        "$(A)",
        "aGk=",
        "!!",
        "self.x == 1",
        "0 0 * * *",
        "@daily",
        "http://a/b?c",
        "example.com/x",
        "Deny",
        "In",
        "Exists",
    ),
    "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
)
NUMBERS = (0, 1, -1, 2, 10, 80, 3600, 65535, 65536, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, 2**63)
TIMES = ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000001Z", "", "x", None)
PATCHES = ("application/apply-patch+yaml", "application/merge-patch+json", "application/strategic-merge-patch+json")
ACCEPTED = ("application/json", "application/yaml", "application/json;as=Table;g=meta.k8s.io;v=v1")


def request(resource: Resource, random: Random) -> Asked:
    """A request for one of two objects of a resource, or for all of them."""
    group = f"/apis/{resource.group}" if resource.group else "/api"
    namespace = "/namespaces/default" if resource.namespaced else ""
    collection = f"{group}/{resource.version}{namespace}/{resource.resource}"
    name = f"o{random.randrange(2)}"
    one = f"{collection}/{name}" + random.choice(("", "", "", *(f"/{below}" for below in resource.subresources)))
    headers = {"accept": random.choice(ACCEPTED), "content-type": "application/json", "user-agent": "chance/1.0"}
    match random.randrange(8):
        case 0:
            return Asked("GET", random.choice((collection, one)), (), headers, None)
        case 1:
            return Asked("DELETE", random.choice((collection, one)), (), headers, None)
        case 2:
            return Asked("PUT", one, (), headers, made(resource, name, random))
        case 3 | 4:
            headers["content-type"] = random.choice(PATCHES)
            query = (("fieldManager", "chance"), ("force", "true")) if "apply" in headers["content-type"] else ()
            return Asked("PATCH", one, query, headers, made(resource, name, random))
        case _:
            return Asked("POST", collection, (), headers, made(resource, name, random))


def made(resource: Resource, name: str, random: Random) -> Object:
    """An object of a kind; some have few fields and some almost all."""
    share = random.choice((0.15, 0.4, 0.8))
    tree = _value(builtin.definition(resource.definition), random, random.choice((4, 7, 9)), share)
    fields: Object = tree if type(tree) is dict else {}
    return {**fields, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}}


def _value(schema: Object, random: Random, depth: int, share: float) -> Json:
    if random.random() < 0.01:
        return copy(random.choice(JUNK))
    if "allOf" in schema:
        schema = schema["allOf"][0]
    if "$ref" in schema:
        schema = builtin.resolve(schema["$ref"])
    if schema.get("format") == "int-or-string":
        return random.choice((*NUMBERS, *TEXTS))
    match schema.get("type"):
        case "string":
            return random.choice(TIMES if schema.get("format") == "date-time" else schema.get("enum") or TEXTS)
        case "integer" | "number":
            return random.choice(NUMBERS)
        case "boolean":
            return random.random() < 0.5
        case "array":
            size = random.choice((0, 1, 1, 2, 3)) if depth > 0 else 0
            return [_value(schema["items"], random, depth - 1, share) for _ in range(size)]
    if depth <= 0:
        return {}
    if "properties" in schema:
        required = schema.get("required", ())
        return {
            name: _value(field, random, depth - 1, share)
            for name, field in schema["properties"].items()
            if random.random() < (0.97 if name in required else share)
        }
    inner = schema.get("additionalProperties", {})
    return {random.choice(TEXTS): _value(inner, random, depth - 1, share) for _ in range(random.randrange(3))}
