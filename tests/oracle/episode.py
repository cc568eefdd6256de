"""An episode: requests for objects of one kind, which are compared one by one."""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from random import Random
from typing import Any, NamedTuple

import msgspec
from tests.oracle.canonical import Names, canonical
from tests.oracle.comparison import RESTLESS, Compared, Difference, frames_differ
from tests.oracle.generator import Generator
from tests.oracle.kinds import Kind
from tests.oracle.normal_form import in_order
from tests.oracle.pair import Pair, Watch
from tests.oracle.request import Request
from tests.oracle.wire import Answer

_JSON = (("Content-Type", "application/json"),)
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
# The time without a frame that ends a watch: if a last frame is due, and if none is.
_FRAME_SECONDS = 2.0
_SILENCE_SECONDS = 0.3
_REMOVAL_ATTEMPTS = 40
_CLEANUP = b'"customresourcecleanup.apiextensions.k8s.io"'


class Finding(NamedTuple):
    """A request whose answers differ, with the requests before that request."""

    history: tuple[Request, ...]
    compared: Compared
    # The codes of the real server's answers to these requests.
    codes: tuple[int, ...] = ()

    @property
    def request(self) -> Request:
        return self.history[-1]


class Outcome(NamedTuple):
    """The result of one compared request."""

    request: Request
    code: int
    finding: Finding | None


@dataclass
class Episode:
    """Sends requests under the name of the episode, and compares the answers."""

    pair: Pair
    name: str
    kind: Kind
    history: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.names = (Names(), Names())
        self.parted = False
        self.codes: list[int] = []

    def set_up(self) -> Iterator[Outcome]:
        """Creates the namespace of the episode, the service account that its pods need, and the pods of bindings."""
        if not self.kind.namespaced:
            return
        labels = {"ep": "{ep}"}
        made: list[tuple[str, str, dict[str, Any]]] = [
            ("/api/v1/namespaces", "namespaces/v1", {"metadata": {"name": "ns-{ep}", "labels": labels}})
        ]
        if self.kind.resource in ("pods", "bindings"):
            path = "/api/v1/namespaces/ns-{ep}/serviceaccounts"
            made.append((path, "serviceaccounts/v1", {"metadata": {"name": "default"}}))
        if self.kind.resource == "bindings":
            spec: dict[str, Any] = {"containers": [{"name": "a", "image": "nginx"}]}
            path = "/api/v1/namespaces/ns-{ep}/pods"
            made += [
                (path, "pods/v1", {"metadata": {"name": f"o{number}-{{ep}}"}, "spec": spec}) for number in range(4)
            ]
        for path, kind, tree in made:
            yield self.send(Request("POST", path, headers=_JSON, body=tree, kind=kind, verb="create"))[0]

    def send(self, request: Request) -> tuple[Outcome, Answer, str]:
        """Compares the answers to a request; gives the real one, and its canonical text as well."""
        self.history.append(request)
        real, compared, self.names = self.pair.compared(request, self.names, self.name)
        self.codes.append(real.code)
        finding = None
        if compared.differences:
            finding = Finding(tuple(self.history), compared, tuple(self.codes))
            # The states of the servers are no longer the same, or the numbers of their names.
            self.parted = not request.reads and (
                compared.differences[0].place.startswith("code")
                or any(self.names[0].count(part) != self.names[1].count(part) for part in ("uid", "rv", "name"))
            )
        if request.method == "DELETE" and self.kind.resource == "customresourcedefinitions":
            self._await_removal()
        return Outcome(request, real.code, finding), real, compared.real

    def _await_removal(self) -> None:
        """Waits for the controller inside kube-apiserver that removes a definition, or its finalizer, after its
        objects."""
        read = Request("GET", f"{self.kind.collection()}/{self.kind.template['name']}")
        for _ in range(_REMOVAL_ATTEMPTS):
            answers = self.pair.exchange(read, self.names, self.name)
            if len({(answer.code, _CLEANUP in answer.body) for answer in answers}) == 1:
                return
            time.sleep(0.05)

    def clean_up(self) -> None:
        """Deletes the objects that later episodes would see: those of a kind without namespace, and different ones."""
        if self.kind.namespaced and self.parted and "patch" in self.kind.verbs:
            headers = (("Content-Type", "application/merge-patch+json"),)
            for number in range(6):
                path = f"{self.kind.collection()}/o{number}-{{ep}}"
                request = Request("PATCH", path, headers=headers, body={"metadata": {"finalizers": None}})
                self.pair.exchange(request, self.names, self.name)
        if self.kind.namespaced and self.parted and "deletecollection" in self.kind.verbs:
            query = (("propagationPolicy", "Background"), ("gracePeriodSeconds", "0"))
            self.pair.exchange(Request("DELETE", self.kind.collection(), query), self.names, self.name)
        if self.kind.namespaced or "delete" not in self.kind.verbs:
            return
        pattern = self.kind.template.get("name")
        generated = [f"<name:{number}>" for number in range(min(known.count("name") for known in self.names))]
        own = [f"o{number}-{{ep}}" for number in range(6)]
        for name in [*own, "zz-{ep}", *generated, *([pattern] if pattern else ())]:
            path = f"{self.kind.collection()}/{name}"
            answers = self.pair.exchange(Request("GET", path), self.names, self.name)
            if all(answer.code == 404 for answer in answers):
                continue
            patch = {"metadata": {"finalizers": None}}
            headers = (("Content-Type", "application/merge-patch+json"),)
            for request in (
                Request("PATCH", path, headers=headers, body=patch),
                Request("DELETE", path, query=(("gracePeriodSeconds", "0"),)),
            ):
                self.pair.exchange(request, self.names, self.name)
            if self.kind.resource == "namespaces":
                body = {"metadata": {"name": name}, "spec": {"finalizers": []}}
                self.pair.exchange(Request("PUT", f"{path}/finalize", headers=_JSON, body=body), self.names, self.name)


def run_episode(
    pair: Pair, name: str, kind: Kind, random: Random, boldness: float, length: int, *, watched: bool
) -> Iterator[Outcome]:
    """Runs a generated episode until its length, or until the states of the servers differ."""
    episode = Episode(pair, name, kind)
    yield from episode.set_up()
    generator = Generator(random, kind, boldness)
    watched = watched and kind.verbs >= {"watch", "create"}
    watch = _open_watch(episode, random) if watched else None
    try:
        for _ in range(length):
            if episode.parted:
                break
            request = generator.next()
            outcome, real, text = episode.send(request)
            _remember(generator, request, real, text)
            yield outcome
        if watch is not None and not episode.parted:
            yield _close_watch(episode, watch, generator)
    finally:
        if watch is not None:
            watch.close()
        episode.clean_up()


def replay(pair: Pair, name: str, kind: Kind, history: Iterable[Request]) -> Finding | None:
    """Sends the requests again in a new episode; gives the finding of the last request, if its answers differ."""
    episode = Episode(pair, name, kind)
    for _ in episode.set_up():
        pass
    outcome = None
    try:
        for request in history:
            if not (request.path == "/api/v1/namespaces" and request.kind == "namespaces/v1" and kind.namespaced):
                outcome = episode.send(request)[0]
    finally:
        episode.clean_up()
    return outcome.finding if outcome else None


def _remember(generator: Generator, request: Request, real: Answer, text: str) -> None:
    """Keeps the state of the real server that an answer shows."""
    objects = generator.state.objects
    if real.code >= 300 or request.method == "HEAD":
        if real.code == 404 and request.verb == "get":
            objects.pop(request.path.rpartition("/")[2], None)
        return
    if any(key == "dryRun" for key, _ in request.query) or not any(
        "json" in kind for kind in real.header("content-type")
    ):
        return
    tree = _decoded(text)
    metadata = tree.get("metadata") or {}
    if request.verb == "list":
        if "continue" in metadata and "<continue:" in metadata["continue"]:
            generator.state.pages += 1
        return
    if request.verb in ("deletecollection", "odd"):
        objects.clear()
        return
    if tree.get("kind") == generator.kind.kind and "name" in metadata and "resourceVersion" in metadata:
        if "as=" in dict(request.headers).get("Accept", ""):
            return
        objects[metadata["name"] if "<name" in metadata["name"] else _own_name(request, metadata)] = tree
    elif request.verb == "delete" and tree.get("kind") == "Status":
        objects.pop(request.path.rpartition("/")[2], None)


def _own_name(request: Request, metadata: dict[str, Any]) -> str:
    """The name with the placeholder of the episode."""
    if request.verb == "create" and not request.subresource:
        body = request.body if isinstance(request.body, dict) else {}
        name = (body.get("metadata") or {}).get("name")
        return name if isinstance(name, str) else metadata["name"]
    parts = request.path.split("/")
    return parts[-2] if request.subresource else parts[-1]


def _decoded(text: str) -> dict[str, Any]:
    try:
        tree = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {}
    return tree if isinstance(tree, dict) else {}


def _open_watch(episode: Episode, random: Random) -> Watch:
    query: list[tuple[str, str]] = [("watch", random.choice(("1", "true"))), ("labelSelector", "ep={ep}")]
    if random.random() < 0.3:
        query.append(("resourceVersion", "0"))
    if random.random() < 0.3:
        query += [("allowWatchBookmarks", "true")]
        if random.random() < 0.4:
            query += [("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")]
    if random.random() < 0.3:
        query.append(("fieldSelector", "metadata.name!=o1-{ep}"))
    headers = (("Accept", random.choice((_TABLE, _PARTIAL))),) if random.random() < 0.3 else ()
    kind = episode.kind
    request = Request("GET", kind.collection(), tuple(query), headers, kind=kind.name, verb="watch")
    return episode.pair.watch(request, episode.names, episode.name)


def _close_watch(episode: Episode, watch: Watch, generator: Generator) -> Outcome:
    """Creates a last object, reads the frames up to that object, and compares the frames."""
    request = watch.request
    codes = [code for code, _ in watch.heads]
    if codes != [200, 200]:
        found = [Difference(f"watch: code {codes[0]} → {codes[1]}", "", "")] if codes[0] != codes[1] else []
        return _outcome(episode, request, codes[0], found, [[], []])
    seconds = _SILENCE_SECONDS
    if "name" not in episode.kind.template:
        last = generator.fresh("zz-{ep}")
        create = Request("POST", episode.kind.collection(), headers=_JSON, body=last)
        answers = episode.pair.exchange(create, episode.names, episode.name)
        if all(answer.code == 201 for answer in answers):
            seconds = _FRAME_SECONDS
    raw = [_without_chance(_without_bookmarks(lines)) for lines in watch.frames(b'"zz-', seconds)]
    # Controllers inside kube-apiserver write some kinds at any time, which makes more frames.
    is_restless = episode.kind.name.startswith(RESTLESS)
    frames = [
        [_frame(line, known) for line in lines if not (is_restless and b'"type":"MODIFIED"' in line)]
        for lines, known in zip(raw, episode.names, strict=True)
    ]
    # The first objects are created while the real server still begins the watch, so they may come before its bookmark.
    frames = [_bookmarks_first(lines) for lines in frames]
    return _outcome(episode, request, 200, frames_differ(frames[0], frames[1], episode.kind.name), frames)


def _bookmarks_first(lines: list[str]) -> list[str]:
    """The frames with bookmarks first. The column definitions of tables move to the new first frame."""
    found = sorted(lines, key=lambda line: '"type":"BOOKMARK"' not in line)
    if not found or found[0] == lines[0] or '"columnDefinitions":' not in lines[0]:
        return found
    first, moved = msgspec.json.decode(lines[0]), msgspec.json.decode(found[0])
    columns, first["object"]["columnDefinitions"] = first["object"]["columnDefinitions"], None
    moved["object"]["columnDefinitions"] = columns
    later = [msgspec.json.encode(first).decode() if line == lines[0] else line for line in found[1:]]
    return [msgspec.json.encode(moved).decode(), *later]


def _without_bookmarks(lines: list[bytes]) -> list[bytes]:
    """The frames without those bookmarks that a server sends at any time."""
    return [line for line in lines if b'"type":"BOOKMARK"' not in line or b"initial-events-end" in line]


def _without_chance(lines: list[bytes]) -> list[bytes]:
    """The frames; neighbours about objects with generated names in the order of their contents. A deletion of many
    objects writes them in the order of their names."""
    found: list[bytes] = []
    for is_generated, run in groupby(lines, lambda line: b'"generateName"' in line and b'"ADDED"' not in line):
        frames = list(run)
        found += sorted(frames, key=_content) if is_generated else frames
    return found


def _content(line: bytes) -> str:
    return canonical(msgspec.json.encode(in_order(msgspec.json.decode(line)), order="sorted"), Names())


def _frame(line: bytes, known: Names) -> str:
    """A frame in canonical form. The version of a bookmark is that of the store, which no object needs to have."""
    if b'"type":"BOOKMARK"' in line:
        line = re.sub(rb'"resourceVersion":"\d+"', b'"resourceVersion":"<listrv>"', line)
    return canonical(line, known)


def _outcome(
    episode: Episode, request: Request, code: int, found: list[Difference], frames: list[list[str]]
) -> Outcome:
    if not found:
        return Outcome(request, code, None)
    texts = ["\n".join(lines) for lines in frames]
    return Outcome(request, code, Finding((*episode.history, request), Compared(found, texts[0], texts[1])))


Runner = Callable[[tuple[Request, ...]], Finding | None]
