"""Damages requests at random: their method, path, query, headers and body. The same chance damages the same way."""

import json
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple
from urllib.parse import quote

import yaml
from tests.server.protobuf import bodies

from setpoint.objects.tree import Json, copy
from setpoint.server.message import Request

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW", "get")
SEGMENTS = (
    *("", ".", "..", "%00", "%2F", "%zz", "%ff", "%ED%A0%80", "%C3%BC", "a" * 300, "status", "scale", "history"),
    *("watch", "namespaces", "default", "pods", "apis", "v1", "log", "proxy", "binding", "token", "*", "a b"),
)
PARAMETERS = (
    *("limit", "continue", "resourceVersion", "resourceVersionMatch", "labelSelector", "fieldSelector", "watch"),
    *("dryRun", "fieldManager", "fieldValidation", "force", "pretty", "timeoutSeconds", "timeout", "at"),
    *("allowWatchBookmarks", "sendInitialEvents", "propagationPolicy", "gracePeriodSeconds", "includeObject"),
    *("orphanDependents", "ignoreStoreReadErrorWithClusterBreakingPotential", "shardSelector", "zz", ""),
)
VALUES = (
    *("", "0", "1", "-1", "5", "abc", "9" * 40, "1e3", "true", "True", "a=b,c!=d", "a in (b", "!a", "a>1", "=", ","),
    *("metadata.name=x", "spec.nodeName=", "All", "Strict", "Foreground", "Exact", "NotOlderThan", "10s", "x" * 200),
    *("\0", "ü", "\ud800", "{}", '{"v":"meta.k8s.io/v1","rv":1,"start":"x"}', "eyJ2IjoiIn0", "a\nb", "%", "()", "\\"),
)
MEDIA_TYPES = (
    *("application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "*/*", "", "text/plain"),
    *("application/merge-patch+json", "application/json-patch+json", "application/strategic-merge-patch+json"),
    *("application/apply-patch+yaml", "application/apply-patch+cbor", "a/b;c", ";", "application/json;q=nan"),
    *("application/json;as=Table;g=meta.k8s.io;v=v1", "application/json;as=Table;g=meta.k8s.io;v=v9,*/*;q=x"),
    *("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "application/yaml;as=Table", "x" * 600),
    *("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", "application/json;stream=watch"),
)
HEADERS = (
    *("accept", "content-type", "user-agent", "audit-id", "accept-encoding", "if-none-match", "impersonate-user"),
    *("impersonate-group", "impersonate-uid", "impersonate-extra-%00", "authorization", "content-length"),
)
NAMES = (
    *("zz", "metadata", "spec", "status", "name", "namespace", "kind", "apiVersion", "$patch", "$retainKeys", "", "ü"),
    *("managedFields", "ownerReferences", "finalizers", "labels", "annotations", "uid", "generation"),
    *("$setElementOrder/a", "$deleteFromPrimitiveList/a"),
)
JUNK: list[Json] = [
    *(None, 0, -1, 1.5, 2**31, 2**63, 2**64, 10**30, 1e308, -0.0, True, False),
    *("", "x", "ü", "a/b", "{", "1Gi", "-", "\0", "\ud800", "\udfff\ud800", "a" * 300, "2026-01-31T12:00:00Z", "50%"),
    *([], {}, [None], {"a": None}, [[]], {"": ""}, {"$patch": "delete"}, {"$patch": "replace"}, ["a", "a"], [{}, {}]),
]
# What JSON does not have, and some decoders do.
TOKENS = (*b"NaN -Infinity 1e999 0x1 01 1. 'a' nul \xff".split(), b'"\\ud800"', b'"\\u0000"', b"[" * 500)
YAMLS = (
    b"a: &a [x, x, x]\nb: &b [*a, *a, *a]\nc: &c [*b, *b, *b]\nd: [*c, *c, *c]\n",
    b"&a [*a]",
    b"!!python/object/apply:os.getcwd []",
    b"a: 1\n---\nb: 2\n",
    b"? [a, b]\n: c\n",
    b"a: .nan\nb: .inf\nc: 0o7\nd: 2026-01-31\ne: !!binary aGk=\n",
    b"<<: {a: b}\nc: d\n",
    b"\t- a",
    b"%YAML 9.9\n---\na",
    b"\xef\xbb\xbfa: b",
    b"- " * 2000,
    b"{" * 2000,
)


class Asked(NamedTuple):
    """A request as it is recorded or made."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    headers: dict[str, str]
    body: Json | bytes

    @property
    def data(self) -> bytes:
        """The body as bytes; what is not there has none."""
        if isinstance(self.body, bytes):
            return self.body
        return b"" if self.body is None else json.dumps(self.body).encode()

    @property
    def request(self) -> Request:
        query = "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in self.query)
        return Request(self.method, self.path, query, self.headers, self.data)


def damaged(asked: Asked, random: Random) -> Asked:
    for _ in range(random.choice((1, 1, 2, 3))):
        asked = random.choice(_WAYS)(asked, random)
    return asked


def _method(asked: Asked, random: Random) -> Asked:
    return asked._replace(method=random.choice(METHODS))


def _path(asked: Asked, random: Random) -> Asked:
    segments = asked.path.split("/")
    place = random.randrange(len(segments))
    match random.randrange(4):
        case 0:
            del segments[place]
        case 1:
            segments.insert(place, random.choice(SEGMENTS))
        case 2:
            segments[place] = random.choice(SEGMENTS)
        case _:
            segments.insert(place, segments[place])
    return asked._replace(path="/".join(segments))


def _query(asked: Asked, random: Random) -> Asked:
    pairs = [*asked.query, (random.choice(PARAMETERS), random.choice(VALUES))]
    random.shuffle(pairs)
    return asked._replace(query=tuple(pairs))


def _header(asked: Asked, random: Random) -> Asked:
    name = random.choice(HEADERS)
    value = random.choice(MEDIA_TYPES if name in ("accept", "content-type") else VALUES)
    return asked._replace(headers={**asked.headers, name: value})


def _tree(asked: Asked, random: Random) -> Asked:
    """Drops, adds, doubles, deepens or replaces something in a body that is JSON."""
    if isinstance(asked.body, bytes):
        return asked
    tree = copy(asked.body)
    ways = _places(tree)
    if not ways:
        return asked._replace(body=copy(random.choice(JUNK)))
    *above, last = random.choice(ways)
    holder: Any = tree
    for step in above:
        holder = holder[step]
    match random.randrange(6):
        case 0:
            del holder[last]
        case 1 if type(holder) is dict:
            holder[random.choice(NAMES)] = copy(random.choice(JUNK))
        case 2 if type(holder) is list:
            holder.append(copy(holder[last]))
        case 3:
            for _ in range(random.choice((1, 5, 200))):
                holder[last] = [holder[last]] if random.random() < 0.5 else {"a": holder[last]}
        case 4:
            *elsewhere, name = random.choice(ways)
            found: Any = tree
            for step in (*elsewhere, name):
                found = found[step]
            holder[last] = copy(found)
        case _:
            holder[last] = copy(random.choice(JUNK))
    return asked._replace(body=tree)


def _text(asked: Asked, random: Random) -> Asked:
    """Cuts a body off, flips a byte of it, says something twice, or puts in what is no JSON."""
    data = asked.data
    place = random.randrange(len(data) + 1)
    match random.randrange(6):
        case 0:
            data = data[:place]
        case 1 if place < len(data):
            data = data[:place] + bytes((data[place] ^ 1 << random.randrange(8),)) + data[place + 1 :]
        case 2:
            data = data.replace(b'{"', b'{"' + random.choice((b"kind", b"name", b"a")) + b'":1,"', 1)
        case 3:
            colon = data.find(b":", place)
            comma = data.find(b",", colon)
            if 0 < colon < comma:
                data = data[: colon + 1] + random.choice(TOKENS) + data[comma:]
        case 4:
            data = random.choice((b"", b" ", b"null", b"[]", b"0", b'"x"', b"\xef\xbb\xbf" + data, data + data))
        case _:
            data = data[:place] + random.choice(TOKENS) + data[place:]
    return asked._replace(body=data)


def _yaml(asked: Asked, random: Random) -> Asked:
    """Says the same in YAML, or something that only YAML can say."""
    headers = asked.headers
    if "apply" not in headers.get("content-type", ""):
        headers = {**headers, "content-type": "application/yaml"}
    made = random.choice(YAMLS)
    if not isinstance(asked.body, bytes) and random.random() < 0.6:
        made = _dumped(asked, allow_unicode=random.random() < 0.5)
        if random.random() < 0.3:
            made = made[: random.randrange(len(made))] + random.choice((b"*a", b"\t", b"!!x ", b": :", b"- - ", b"\0"))
    return asked._replace(body=made, headers=headers)


def _dumped(asked: Asked, *, allow_unicode: bool) -> bytes:
    try:
        return yaml.dump(asked.body, allow_unicode=allow_unicode).encode("utf-8", "replace")
    except RecursionError:  # JSON that is nested deep is YAML as well
        return asked.data


def _protobuf(asked: Asked, random: Random) -> Asked:
    """A protobuf body of the same kind, made of fields by chance, and often cut off."""
    tree = asked.body if isinstance(asked.body, dict) else {}

    def message(depth: int) -> bytes:
        made = b""
        for _ in range(random.randrange(4)):
            tag = random.randrange(1, 20)
            match random.randrange(4):
                case 0 if depth:
                    made += bodies.field(tag, message(depth - 1))
                case 1:
                    made += bodies.number(tag << 3) + bodies.number(random.choice((0, 1, 2**31, 2**63, 2**64 - 1)))
                case 2:
                    made += random.randbytes(random.randrange(6))
                case _:
                    made += bodies.field(tag, random.choice((b"", b"name", b"\xff", b"a" * 300, b"1Gi")))
        return made

    named = bodies.field(1, bodies.field(1, b"proto")) if random.random() < 0.7 else b""
    data = bodies.body(_ascii(tree.get("apiVersion")), _ascii(tree.get("kind")), named + message(4))
    if random.random() < 0.4:
        data = data[: random.randrange(len(data))]
    return asked._replace(body=data, headers={**asked.headers, "content-type": "application/vnd.kubernetes.protobuf"})


_WAYS: tuple[Callable[[Asked, Random], Asked], ...] = (
    *(_method, _path, _path, _query, _query, _header, _header),
    *(_tree, _tree, _tree, _tree, _text, _yaml, _protobuf),
)


def _places(tree: Json, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value inside a tree."""
    children = tree.items() if type(tree) is dict else enumerate(tree) if type(tree) is list else ()
    return [place for step, item in children for place in ((*above, step), *_places(item, (*above, step)))]


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"))


def _ascii(value: Json) -> str:
    return value if isinstance(value, str) and value.isascii() else "v1"
