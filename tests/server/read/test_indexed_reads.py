"""Lists and watches with selectors read only the objects that match, from the second use on."""

from itertools import count
from typing import Any, TypeAlias

import pytest

from setpoint.server.registry.selectors import ObjectSelector

from .reader import ALL_MAPS, DEFINITIONS, MAPS, Reader, reading

PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/api/v1/namespaces/default/events"
NEWER_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
GEARS = "/apis/ex.com/v1/namespaces/default/gears"
OBJECTS = 40
Query: TypeAlias = dict[str, Any]
GEAR: Any = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gears.ex.com"},
    "spec": {
        "group": "ex.com",
        "scope": "Namespaced",
        "names": {"plural": "gears", "kind": "Gear"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "selectableFields": [{"jsonPath": ".spec.color"}],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"color": {"type": "string"}, "size": {"type": "string"}},
                            }
                        },
                    }
                },
            }
        ],
    },
}


class Compared:
    """Counts the objects that are compared with selectors."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        matches = ObjectSelector.matches

        def counted(selector: ObjectSelector, key: str, value: bytes, revision: int) -> bool:
            self.count += 1
            return matches(selector, key, value, revision)

        monkeypatch.setattr(ObjectSelector, "matches", counted)

    def taken(self) -> int:
        found, self.count = self.count, 0
        return found


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Compared:
    return Compared(monkeypatch)


async def listed(reader: Reader, path: str, **query: Any) -> list[str]:
    return [each["metadata"]["name"] for each in (await reader.json(path, **query))["items"]]


def pod(name: str, node: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}}


def event(name: str, of: str) -> dict[str, Any]:
    about = {"kind": "Pod", "name": of, "namespace": "default"}
    return {"metadata": {"name": name}, "involvedObject": about, "reason": "Tested", "type": "Normal"}


async def filled(reader: Reader, path: str) -> None:
    """Creates objects of which each tenth is of the group 3."""
    indexes = reader.server.services.term_indexes
    assert indexes is not None
    indexes.least = OBJECTS
    if path == GEARS:
        await reader.json(DEFINITIONS, method="POST", body=GEAR, status=201)
    for number in range(OBJECTS):
        group = f"g{number % 10}"
        body = {
            PODS: pod(f"o{number:02d}", group),
            EVENTS: event(f"o{number:02d}", group),
            GEARS: {
                "apiVersion": "ex.com/v1",
                "kind": "Gear",
                "metadata": {"name": f"o{number:02d}"},
                "spec": {"color": group},
            },
            MAPS: {"metadata": {"name": f"o{number:02d}", "labels": {"group": group}}},
        }
        await reader.json(path, method="POST", body=body[path], status=201)


SELECTORS = [
    (PODS, PODS, {"fieldSelector": "spec.nodeName=g3"}),
    (EVENTS, EVENTS, {"fieldSelector": "involvedObject.name=g3"}),
    (EVENTS, NEWER_EVENTS, {"fieldSelector": "regarding.name=g3"}),
    (GEARS, GEARS, {"fieldSelector": "spec.color=g3"}),
    (MAPS, MAPS, {"labelSelector": "group=g3"}),
    (MAPS, MAPS, {"labelSelector": "group in (g3),!absent"}),
]


@pytest.mark.parametrize(("made", "path", "query"), SELECTORS)
async def test_a_list_with_a_selector_reads_only_the_matches(
    made: str, path: str, query: Query, compared: Compared
) -> None:
    async with reading() as reader:
        await filled(reader, made)
        expected = ["o03", "o13", "o23", "o33"]
        assert await listed(reader, path, **query) == expected
        assert compared.taken() >= OBJECTS, "the first use reads all objects"
        for _ in range(3):
            assert await listed(reader, path, **query) == expected
            assert compared.taken() == len(expected)
        watch = await reader.watch(path, **query)
        assert await watch.told(len(expected)) == [("ADDED", name) for name in expected]
        assert compared.taken() == len(expected)


async def test_an_index_of_a_field_follows_changes(compared: Compared) -> None:
    async with reading() as reader:
        await filled(reader, GEARS)
        query: Query = {"fieldSelector": "spec.color=g3"}
        for _ in range(2):
            await listed(reader, GEARS, **query)
        await reader.patch(f"{GEARS}/o03", {"spec": {"color": "g4"}})
        await reader.patch(f"{GEARS}/o04", {"spec": {"color": "g3"}})
        await reader.patch(f"{GEARS}/o05", {"spec": {"size": "1"}})
        compared.taken()
        assert await listed(reader, GEARS, **query) == ["o04", "o13", "o23", "o33"]
        assert compared.taken() == 4


async def test_a_changed_definition_has_new_indexes(compared: Compared) -> None:
    async with reading() as reader:
        await filled(reader, GEARS)
        query: Query = {"fieldSelector": "spec.color=g3"}
        for _ in range(2):
            await listed(reader, GEARS, **query)
        defaulted = {"type": "string", "default": "g3"}
        version = {**GEAR["spec"]["versions"][0]}
        version["schema"] = {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": {"type": "object", "properties": {"color": defaulted}}},
            }
        }
        await reader.json(
            GEARS,
            method="POST",
            body={"apiVersion": "ex.com/v1", "kind": "Gear", "metadata": {"name": "new"}, "spec": {}},
            status=201,
        )
        assert "new" not in await listed(reader, GEARS, **query)
        await reader.patch(f"{DEFINITIONS}/gears.ex.com", {"spec": {"versions": [version]}})
        for _ in range(3):
            assert await listed(reader, GEARS, **query) == ["new", "o03", "o13", "o23", "o33"]


async def test_a_name_in_all_namespaces_is_found_by_an_index(compared: Compared) -> None:
    async with reading() as reader:
        await filled(reader, MAPS)
        await reader.create(MAPS.replace("default", "kube-system"), "o07")
        for _ in range(2):
            assert await listed(reader, ALL_MAPS, fieldSelector="metadata.name=o07") == ["o07", "o07"]
        compared.taken()
        assert await listed(reader, ALL_MAPS, fieldSelector="metadata.name=o07") == ["o07", "o07"]
        assert compared.taken() == 2
        assert await listed(reader, ALL_MAPS, fieldSelector="metadata.name=o07,metadata.name=o08") == []


async def test_pages_of_a_selector_read_only_the_matches(compared: Compared) -> None:
    async with reading() as reader:
        await filled(reader, MAPS)
        query: Query = {"labelSelector": "group=g3"}
        for _ in range(2):
            await listed(reader, MAPS, **query)
        compared.taken()
        names, begin = [], Query()
        for number in count(1):
            page = await reader.json(MAPS, **query, limit="1", **begin)
            names += [each["metadata"]["name"] for each in page["items"]]
            # Later changes are not in the pages of the first revision.
            await reader.create(MAPS, f"p{number}", labels={"group": "g3"})
            await reader.patch(f"{MAPS}/o33", {"metadata": {"labels": {"group": "g4"}}})
            begin = {"continue": page["metadata"].get("continue")}
            if not begin["continue"]:
                break
        assert names == ["o03", "o13", "o23", "o33"]
        # Objects that changed since the first page are compared as well.
        assert compared.taken() <= 5 * (4 + 5)
        # The last page is empty: other objects follow the last match.
        assert await listed(reader, MAPS, **query) == ["o03", "o13", "o23", "p1", "p2", "p3", "p4", "p5"]


@pytest.mark.parametrize("limit", ["1", "2", "3", "4", "5"])
async def test_pages_have_the_same_ends_with_and_without_an_index(limit: str) -> None:
    async with reading() as reader:
        await filled(reader, MAPS)
        ends = []
        for _ in range(3):
            page = await reader.json(MAPS, labelSelector="group=g3", limit=limit)
            ends.append((len(page["items"]), "continue" in page["metadata"]))
        assert ends == [ends[0]] * 3
