"""Query options, headers and bodies that requests vary."""

from random import Random
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from tests.oracle.generator import Generator

Query = tuple[tuple[str, str], ...]

PATCHES = ("json", "merge", "merge", "strategic", "strategic", "apply", "apply-yaml")
CONTENT_TYPES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
    "apply-yaml": "application/apply-patch+yaml",
}
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
_PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
ACCEPT = (
    *(_TABLE, _TABLE, f"{_TABLE},application/json", _PARTIAL, _PARTIAL_LIST, f"{_PARTIAL_LIST},{_PARTIAL}"),
    *("application/yaml", "application/json", "*/*", "text/html, application/json;q=0.9", "image/png"),
    *("application/json;as=Table;v=v1beta1;g=meta.k8s.io", "application/json;as=Nope;v=v1;g=meta.k8s.io", "garbage"),
    *("application/vnd.kubernetes.protobuf, application/json", "application/json;pretty=1", ""),
)


def write_query(made: "Generator") -> Query:
    """Options of a create, update or patch."""
    random = made.random
    found: list[tuple[str, str]] = []
    if random.random() < 0.08:
        found.append(("dryRun", "All" if not made.bold() else random.choice(("", "all", "Server", "All"))))
    if random.random() < 0.15:
        odd = made.bold() and random.random() < 0.2
        found.append(
            ("fieldManager", random.choice(("x" * 129, "a\u0007b")) if odd else random.choice(("m1", "m2", "m3")))
        )
    if random.random() < 0.3:
        odd = made.bold() and random.random() < 0.2
        found.append(
            ("fieldValidation", random.choice(("strict", "x")) if odd else random.choice(("Strict", "Warn", "Ignore")))
        )
    if random.random() < 0.04:
        found.append(("pretty", random.choice(("true", "false", "1", "x", ""))))
    if made.bold() and random.random() < 0.1:
        found.append(
            random.choice(
                (("force", "true"), ("unknown", "1"), ("resourceVersion", "1"), ("limit", "x"), ("timeout", "x"))
            )
        )
    return tuple(found)


def list_query(made: "Generator") -> Query:
    """Options of a list."""
    random = made.random
    found: list[tuple[str, str]] = []
    if random.random() < 0.5:
        good: tuple[str, ...] = (
            "ep={ep}",
            "ep={ep},x=1",
            "ep={ep},x!=1",
            "ep={ep},x in (1,2)",
            "ep,!nope",
            "ep={ep},x notin (0)",
            "ep=={ep}",
        )
        bad = (
            "ep=",
            "x in (",
            "a b",
            "=x",
            "x=a,",
            "-a=b",
            "x>1",
            "x>a",
            "ep={ep},a/b/c=d",
            "x in ()",
            "ep={ep},x=" + "y" * 64,
        )
        found.append(("labelSelector", random.choice(bad if made.bold() and random.random() < 0.4 else good)))
    if random.random() < 0.25:
        known: tuple[str, ...] = ("metadata.name=o0-{ep}", "metadata.name!=o0-{ep}", "metadata.name==x")
        if made.kind.namespaced:
            known = (*known, "metadata.namespace=ns-{ep}")
        unknown = (
            "spec.nope=1",
            "metadata.name",
            "metadata.labels=x",
            "status.phase=x",
            "metadata.name=a\\b",
            "a=b=c",
            ",",
        )
        found.append(("fieldSelector", random.choice(unknown if made.bold() and random.random() < 0.4 else known)))
    if random.random() < 0.2:
        found.append(
            ("limit", random.choice(("1", "2", "500", "0")) if not made.bold() else random.choice(("-1", "x", "1")))
        )
        if made.state.pages and random.random() < 0.5:
            found.append(("continue", f"<continue:{made.state.pages - 1}>"))
    if random.random() < 0.15:
        found.append(("resourceVersion", random.choice(("0", "0", "", "1") if made.bold() else ("0", ""))))
        if random.random() < 0.4:
            found.append(
                (
                    "resourceVersionMatch",
                    random.choice(("NotOlderThan", "Exact", "x") if made.bold() else ("NotOlderThan",)),
                )
            )
    if made.bold() and random.random() < 0.25:
        found += odd_query(made)
    return tuple(found)


def odd_query(made: "Generator") -> Query:
    """Options that hardly any client sends."""
    return made.random.choice(
        (
            (("pretty", "true"),),
            (("pretty", "x"),),
            (("unknown", "1"),),
            (("resourceVersion", "0"),),
            (("resourceVersion", "x"),),
            (("resourceVersion", "99999999"), ("timeoutSeconds", "1")),
            (("timeoutSeconds", "x"),),
            (("timeout", "x"),),
            (("allowWatchBookmarks", "x"),),
            (("includeObject", "None"),),
            (("includeObject", "Object"),),
            (("includeObject", "x"),),
            (("continue", "x"),),
            (("continue", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0"),),
            (("watch", "false"),),
            (("sendInitialEvents", "true"),),
            (("fieldSelector", "metadata.name=o0-{ep}"),),
            (("exact", "true"), ("export", "true")),
        )
    )


def delete_options(made: "Generator") -> tuple[Any, Query]:
    """The body and the query of a deletion."""
    random = made.random
    query: list[tuple[str, str]] = []
    if random.random() < 0.1:
        query.append(("dryRun", "All"))
    if random.random() < 0.2:
        query.append(
            ("gracePeriodSeconds", random.choice(("0", "1", "30") if not made.bold() else ("-1", "x", "0", "5")))
        )
    if random.random() < 0.2:
        policies = ("Foreground", "Background", "Orphan")
        query.append(("propagationPolicy", random.choice(policies if not made.bold() else (*policies, "x", ""))))
    if made.bold() and random.random() < 0.2:
        query.append(
            random.choice((("orphanDependents", "true"), ("unknown", "x"), ("pretty", "x"), ("orphanDependents", "x")))
        )
    if random.random() < 0.6:
        return None, tuple(query)
    body: dict[str, Any] = {}
    if random.random() < 0.8:
        body |= {"kind": "DeleteOptions", "apiVersion": random.choice(("v1", made.kind.api_version, "meta.k8s.io/v1"))}
    if random.random() < 0.3:
        body["preconditions"] = random.choice(({"uid": "<uid:1>"}, {"resourceVersion": "<rv:1>"}, {"uid": "x"}, {}))
    if random.random() < 0.3:
        body["gracePeriodSeconds"] = random.choice((0, 10, -1) if made.bold() else (0, 10))
    if random.random() < 0.3:
        body["propagationPolicy"] = random.choice(("Foreground", "Background", "Orphan"))
    if made.bold() and random.random() < 0.3:
        body |= random.choice(
            ({"dryRun": ["x"]}, {"unknown": 1}, {"orphanDependents": True}, {"dryRun": "All"}, {"kind": "Pod"})
        )
    return body, tuple(query)


def broken_body(random: Random, body: Any) -> bytes:
    """A body that no server can decode, or one that is odd."""
    text = body if isinstance(body, bytes) else msgspec.json.encode(body)
    match random.randrange(7):
        case 0:
            return text[: len(text) // 2]
        case 1:
            return text + b"}"
        case 2:
            return b""
        case 3:
            return b"[]"
        case 4:
            return b"null"
        case 5:
            return text.replace(b'":', b'":"x","a":', 1)
    return text.replace(b"{", b'{"metadata":{"name":"dup"},', 1)
