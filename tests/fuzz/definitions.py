"""CustomResourceDefinitions with hostile schemas and rules, and objects for them."""

from random import Random
from typing import Any

from tests.schema.random_schemas import Maker
from tests.server.damage import Asked, damaged

GROUP = "fuzz.example"
COUNT = 6
RULES = (
    *("self.a == 1", "true", "self", "1", "", "(", "self.a.b.c", "has(self.zz)", "self == oldSelf", "oldSelf.a > 1"),
    *("self.all(x, x.all(y, y == y))", "self.l.all(x, self.l.all(y, self.l.all(z, x == y)))", "1/0 == 1", "'a' + 1"),
    *("[1,2,3].map(x, [1,2,3].map(y, [1,2,3].map(z, x*y*z))).size() > 0", "'a'.matches('(a+)+$')", "dyn(self).zz"),
    *("'a'.matches('[')", "9223372036854775807 + 1 > 0", "quantity('1e9999') == quantity('1')", "[" * 260 + "]" * 260),
    *("!" * 300 + "true", "'\\ud800' == ''", "url('::').getHost() == ''", "ip('1.2.3.4.5').family() == 4", "\0"),
    *("self.s.replace('', 'aaaaaaaaaa').replace('', 'aaaaaaaaaa').size() > 1", "timestamp('x') == timestamp('y')"),
    *(
        "duration('9999999999h') > duration('1s')",
        "type(self) == type",
        "{}[0]",
        "[][99999999999]",
        "-9223372036854775808 / -1 == 0",
    ),
    *(
        "self.format('%s')",
        "'%s%d%v'.format([self, 1.0])",
        "optional.none().value()",
        "cel.bind(a, a, a)",
        "self." * 200 + "a",
    ),
)
COLUMNS = (".spec", ".metadata.name", "..", ".spec[*].a", ".spec[?(@.a==1)]", "{", "", ".spec['a']", ".zz[0:99:0]")


def request(random: Random) -> Asked:
    """A request for one of a few definitions, or for an object of one."""
    number = random.randrange(COUNT)
    plural = f"things{number}"
    headers = {"accept": "application/json", "content-type": "application/json"}
    name = f"{plural}.{GROUP}"
    collection = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    match random.randrange(12):
        case 0:
            asked = Asked("DELETE", f"{collection}/{name}", (), headers, None)
        case 1 | 2:
            asked = Asked("POST", collection, (), headers, _definition(number, random))
        case 3:
            headers["content-type"] = "application/apply-patch+yaml"
            query = (("fieldManager", "f"), ("force", "true"))
            asked = Asked("PATCH", f"{collection}/{name}", query, headers, _definition(number, random))
        case _:
            asked = _custom(plural, number, random, headers)
    return damaged(asked, random) if random.random() < 0.4 else asked


def _definition(number: int, random: Random) -> dict[str, Any]:
    maker = Maker(random.getrandbits(32))
    schema = maker.root()
    for place in (schema, *schema["properties"].values()):
        if random.random() < 0.4:
            rule: dict[str, Any] = {"rule": random.choice(RULES)}
            rule[random.choice(("message", "messageExpression", "reason", "fieldPath", "optionalOldSelf"))] = (
                random.choice(RULES)
            )
            place["x-kubernetes-validations"] = [rule]
    version: dict[str, Any] = {
        "name": random.choice(("v1", "v1", "v1", "v1beta1", "", "V1")),
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema, "status": {"type": "object"}}}},
        "additionalPrinterColumns": [{"name": "c", "type": "string", "jsonPath": random.choice(COLUMNS)}],
        "selectableFields": [{"jsonPath": random.choice(COLUMNS)}] if random.random() < 0.2 else [],
        "subresources": {"status": {}} if random.random() < 0.5 else {},
    }
    plural = f"things{number}"
    names = {"plural": plural, "singular": f"thing{number}", "kind": f"Thing{number}", "listKind": f"Thing{number}List"}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]}
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    return {**definition, "metadata": {"name": f"{plural}.{GROUP}"}}


def _custom(plural: str, number: int, random: Random, headers: dict[str, str]) -> Asked:
    collection = f"/apis/{GROUP}/v1/namespaces/{random.choice(('tenant', 'default'))}/{plural}"
    name = random.choice(("o0", "o1"))
    maker = Maker(random.getrandbits(32))
    tree = {
        "apiVersion": f"{GROUP}/v1",
        "kind": f"Thing{number}",
        "metadata": {"name": name},
        "spec": maker.anything(4),
    }
    match random.randrange(6):
        case 0:
            headers["accept"] = "application/json;as=Table;g=meta.k8s.io;v=v1"
            return Asked("GET", collection, (), headers, None)
        case 1:
            return Asked("PUT", f"{collection}/{name}" + random.choice(("", "/status")), (), headers, tree)
        case 2:
            headers["content-type"] = "application/apply-patch+yaml"
            return Asked("PATCH", f"{collection}/{name}", (("fieldManager", "f"), ("force", "true")), headers, tree)
        case 3:
            headers["content-type"] = random.choice(
                ("application/merge-patch+json", "application/strategic-merge-patch+json")
            )
            return Asked("PATCH", f"{collection}/{name}", (), headers, tree)
        case 4:
            return Asked("DELETE", random.choice((collection, f"{collection}/{name}")), (), headers, None)
        case _:
            return Asked("POST", collection, (), headers, tree)
