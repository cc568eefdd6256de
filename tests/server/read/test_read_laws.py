"""Laws of reading: whatever is stored and however it is asked for."""

import asyncio
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects import fields, labels
from setpoint.objects.errors import BadRequest
from setpoint.server.codec.partial_metadata import partial
from setpoint.server.codec.protobuf import decode
from setpoint.server.codec.protobuf_form import encoded_status
from setpoint.server.registry.resource import Resource
from setpoint.server.registry.selectors import ObjectSelector
from setpoint.server.registry.storage import Storage
from setpoint.server.registry.strategy import Strategy
from setpoint.server.request import continuation
from setpoint.server.request.continuation import Position
from setpoint.server.watch.frames import Changes, event_frame
from setpoint.store.contract import Event, LogEntry

from .reader import MAPS, MemorySink, names, reading

# Runs hundreds of random cases.
pytestmark = pytest.mark.slow

NAMES = st.sampled_from(["a", "b", "ab", "a-b", "b.a"])
LABELS = st.dictionaries(st.sampled_from(["app", "tier", "x.io/y"]), st.sampled_from(["", "1", "2", "web"]), max_size=3)
LABEL_SELECTORS = st.lists(
    st.sampled_from(["app", "!app", "app=1", "app!=1", "tier in (1,web)", "tier notin (1)", "x.io/y>1", "x.io/y<2"]),
    max_size=3,
).map(",".join)
FIELD_SELECTORS = st.lists(
    st.sampled_from(
        [
            "metadata.name=a",
            "metadata.name!=ab",
            "metadata.namespace=n",
            "metadata.namespace!=n",
            "phase=up",
            "phase!=up",
        ]
    ),
    max_size=3,
).map(",".join)


class Phased(Strategy):
    """A kind that can be selected by its phase."""

    selectable_fields: ClassVar = {"phase": lambda tree: str(tree.get("phase", ""))}


THINGS = Resource(
    group="",
    version="v1",
    resource="things",
    kind="Thing",
    namespaced=True,
    storage=Storage("", "things", True, "v1", "Thing"),
    make_strategy=Phased,
    definition="a built-in one",
)


@given(NAMES, st.sampled_from(["n", "m"]), LABELS, st.sampled_from(["", "up"]), LABEL_SELECTORS, FIELD_SELECTORS)
def test_a_selector_over_bytes_matches_what_it_matches_over_objects(
    name: str, namespace: str, own: dict[str, str], phase: str, label_text: str, field_text: str
) -> None:
    metadata: dict[str, Any] = {"name": name, "namespace": namespace, "spec": {"labels": {"app": "decoy"}}}
    if own:
        metadata["labels"] = own
    tree = {"metadata": metadata, "phase": phase, "spec": {"metadata": {"labels": {"app": "decoy"}}}}
    label_selector, field_selector = labels.parse(label_text), fields.parse(field_text)
    selector = ObjectSelector(THINGS, "", label_selector, field_selector)
    key, value = THINGS.storage.key(namespace, name), THINGS.storage.encode(tree)
    values = {"metadata.name": name, "metadata.namespace": namespace, "phase": phase}
    expected = label_selector.matches(own) and field_selector.matches(values)
    assert selector.matches(key, value, 7) is expected
    if expected:
        assert key.startswith(selector.prefix)
        assert selector.key in (None, key)


@given(
    st.integers(min_value=1, max_value=2**62),
    st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1),
)
def test_a_token_leads_back_to_its_place(revision: int, last: str) -> None:
    if last in (".", ".."):
        return
    place = Position(revision, last)
    assert continuation.decode(continuation.encode(place)) == place


@given(st.one_of(st.text(), st.binary().map(lambda data: data.decode("latin-1"))))
def test_whatever_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="invalid continue token: continue key is not valid"):
        continuation.decode(text)


@pytest.mark.parametrize("start", ["..", "../secrets/x", "a/../../b", "a//b", "/", "a/."])
def test_a_token_cannot_lead_out_of_its_collection(start: str) -> None:
    with pytest.raises(BadRequest):
        continuation.decode(continuation.encode(Position(1, start)))


@given(LABELS, st.dictionaries(st.text(), st.text()))
def test_metadata_is_cut_out_of_an_object_as_it_is(own: dict[str, str], data: dict[str, str]) -> None:
    metadata = {"name": "a", "labels": own, "annotations": data}
    body = msgspec.json.encode({"kind": "Thing", "metadata": metadata, "data": data, "status": {"metadata": {}}})
    found = msgspec.json.decode(partial(THINGS, body, "meta.k8s.io/v1"))
    assert found == {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}


@given(st.text(max_size=300), st.integers(min_value=0, max_value=2**31 - 1))
def test_a_status_in_protobuf_tells_its_code_and_message(message: str, code: int) -> None:
    encoded = encoded_status({"kind": "Status", "apiVersion": "v1", "metadata": {}, "message": message, "code": code})
    assert encoded.startswith(b"k8s\x00\n\x0c\n\x02v1\x12\x06Status\x12")
    found = decode(encoded)
    assert (found.get("message", ""), found.get("code", 0)) == (message, code)


def test_only_so_many_frames_are_remembered_and_none_is_made_twice() -> None:
    changes, made = Changes(), []

    def make(kind: str, event: Event) -> bytes:
        made.append(event.entry.revision)
        return b"x" * 100_000

    def event(revision: int) -> Event:
        return Event(LogEntry(revision, "/k", b"v", 0, revision, 0.0, None, None), None)  # type: ignore[arg-type]

    for revision in range(1, 200):
        assert changes.frame("object", "ADDED", event(revision), make) is changes.frame(
            "object", "ADDED", event(revision), make
        )
    assert made == list(range(1, 200))
    kept = [revision for revision in range(1, 200) if ("object", "ADDED", revision, "/k") in changes._frames]
    assert kept == list(range(200 - len(kept), 200))
    assert len(kept) * 100_000 <= 4 << 20
    assert event_frame("ADDED", b"{}").payload == b'{"type":"ADDED","object":{}}\n'


@given(st.lists(NAMES, max_size=8), st.integers(min_value=1, max_value=4))
def test_pages_of_any_size_make_up_the_list(made: list[str], size: int) -> None:
    asyncio.run(_pages_make_up_the_list(sorted(set(made)), size))


async def _pages_make_up_the_list(wanted: list[str], size: int) -> None:
    async with reading() as reader:
        for name in wanted:
            await reader.create(MAPS, name)
        page = await reader.json(MAPS, limit=size)
        found, remaining = names(page), page["metadata"].get("remainingItemCount", 0)
        assert len(found) + remaining == len(wanted)
        while token := page["metadata"].get("continue"):
            page = await reader.json(MAPS, **{"limit": size, "continue": token})
            assert 0 < len(page["items"]) <= size
            found += names(page)
        assert found == wanted


PATHS = st.sampled_from(
    [
        MAPS,
        f"{MAPS}/a",
        "/api/v1/configmaps",
        "/api/v1/namespaces/default",
        "/api/v1/watch/configmaps",
        "/apis/ex.com/v1/widgets",
        "/apis/setpoint.dev/v1/namespaces/default/configmaps/a/history",
    ]
)
VALUES = st.one_of(
    st.text(max_size=20),
    st.integers(min_value=-(2**70), max_value=2**70).map(str),
    st.sampled_from(["true", "false", "Exact", "NotOlderThan", "0", "1", "a=b", "metadata.name=a", "None"]),
)
PARAMETERS = st.sampled_from(
    [
        "at",
        "limit",
        "continue",
        "resourceVersion",
        "resourceVersionMatch",
        "labelSelector",
        "fieldSelector",
        "watch",
        "sendInitialEvents",
        "allowWatchBookmarks",
        "timeoutSeconds",
        "includeObject",
        "pretty",
    ]
)
CLAUSES = st.sampled_from(
    [
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "*/*",
        "application/*",
        "text/html",
        ";as=Table",
        ";v=v1",
        ";g=meta.k8s.io",
        ";q=0.3",
        ",",
        ";as=PartialObjectMetadata",
        ";as=PartialObjectMetadataList",
        ";stream=watch",
    ]
)


@given(PATHS, st.dictionaries(PARAMETERS, VALUES, max_size=4), st.lists(CLAUSES, max_size=8).map("".join))
def test_no_read_fails_whatever_it_asks_for(path: str, query: dict[str, str], accept: str) -> None:
    asyncio.run(_ask_anything(path, query, accept))


async def _ask_anything(path: str, query: dict[str, str], accept: str) -> None:
    async with reading() as reader:
        await reader.define_widgets()
        await reader.create(MAPS, "a")
        # What asks for a revision to come would wait for it.
        asked = asyncio.create_task(reader.ask("GET", path, None, {"accept": accept}, **query))
        while not asked.done():
            reader.clock.advance(1)
            await asyncio.sleep(0)
        response = await asked
        assert response.status < 500 or response.status == 504, (response.status, response.body)
        if not isinstance(response.body, bytes | list):
            sink = MemorySink()
            stream = asyncio.create_task(response.body.run(sink))
            for _ in range(20):
                reader.clock.advance(1)
                await asyncio.sleep(0)
            sink.close()
            await stream
            assert all(event["object"].get("code", 0) != 500 for event in sink.events)
