"""GET of objects and collections: as of when, how many, which."""

from typing import Any

import pytest

from .reader import ALL_MAPS, MAPS, WIDGETS, Reader, Tree, names, reading

EXPIRED = "The provided continue parameter is too old to display a consistent list result."


async def fill(reader: Reader, *wanted: str) -> list[Tree]:
    return [await reader.create(MAPS, name, labels={"end": name[-1]}, data={"n": name}) for name in wanted]


async def test_an_object_is_read_as_it_was_answered_when_it_was_written() -> None:
    async with reading() as reader:
        made = await reader.create(MAPS, "a", data={"k": "v"})
        assert await reader.json(f"{MAPS}/a") == made


async def test_an_object_that_is_not_there_is_not_found() -> None:
    async with reading() as reader:
        status = await reader.json(f"{MAPS}/a", status=404)
        assert status["message"] == 'configmaps "a" not found'
        assert status["details"] == {"name": "a", "kind": "configmaps"}


async def test_the_past_of_an_object_can_be_read_at_every_revision_of_it() -> None:
    async with reading() as reader:
        first = await reader.create(MAPS, "a", data={"k": "1"})
        second = await reader.patch(f"{MAPS}/a", {"data": {"k": "2"}})
        await reader.delete(f"{MAPS}/a")
        at = first["metadata"]["resourceVersion"]
        assert await reader.json(f"{MAPS}/a", at=at) == first
        assert await reader.json(f"{MAPS}/a", at=second["metadata"]["resourceVersion"]) == second
        assert names(await reader.json(MAPS, at=at)) == ["a"]
        await reader.json(f"{MAPS}/a", at=int(at) - 1, status=404)


async def test_a_revision_that_is_forgotten_is_expired_and_one_to_come_is_a_timeout() -> None:
    async with reading() as reader:
        first = await reader.create(MAPS, "a")
        await fill(reader, "b")
        await reader.store.compact(await reader.store.revision())
        gone = first["metadata"]["resourceVersion"]
        for path in (MAPS, f"{MAPS}/a"):
            assert (await reader.json(path, at=gone, status=410))["reason"] == "Expired"
            status = await reader.json(path, at=999_999_999, status=504)
            assert status["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
        status = await reader.json(MAPS, resourceVersion=gone, resourceVersionMatch="Exact", status=410)
        assert status["message"] == "The resourceVersion for the provided list is too old."
        await reader.json(MAPS, at="soon", status=400)


async def test_a_built_in_list_names_the_kind_once_and_a_custom_one_in_every_item() -> None:
    async with reading() as reader:
        await reader.define_widgets()
        await reader.create(MAPS, "a")
        await reader.create(WIDGETS, "w")
        listed = await reader.json(MAPS)
        assert (listed["kind"], listed["apiVersion"]) == ("ConfigMapList", "v1")
        assert "kind" not in listed["items"][0]
        assert set(listed["metadata"]) == {"resourceVersion"}
        listed = await reader.json(WIDGETS)
        assert (listed["kind"], listed["apiVersion"]) == ("WidgetList", "ex.com/v1")
        assert listed["items"][0]["kind"] == "Widget"
        assert set(listed["metadata"]) == {"resourceVersion", "continue"}


async def test_an_empty_list_has_items() -> None:
    async with reading() as reader:
        await reader.define_widgets()
        assert (await reader.json(MAPS))["items"] == []
        assert (await reader.json(WIDGETS))["items"] == []


async def test_pages_make_up_the_list_as_it_was_when_the_first_was_read() -> None:
    async with reading() as reader:
        await fill(reader, "a", "b", "c", "d", "e")
        page = await reader.json(MAPS, limit=2)
        assert names(page) == ["a", "b"]
        assert page["metadata"]["remainingItemCount"] == 3
        await reader.delete(f"{MAPS}/c")
        await fill(reader, "bb", "f")
        seen = names(page)
        while token := page["metadata"].get("continue"):
            last, page = page, await reader.json(MAPS, **{"limit": 2, "continue": token})
            assert page["metadata"]["resourceVersion"] == last["metadata"]["resourceVersion"]
            seen += names(page)
        assert seen == ["a", "b", "c", "d", "e"]
        assert "remainingItemCount" not in page["metadata"]


async def test_pages_of_a_selection_are_full_and_say_not_how_many_come() -> None:
    async with reading() as reader:
        await fill(reader, *(f"m{number:03d}" for number in range(40)))
        page = await reader.json(MAPS, limit=3, labelSelector="end in (1,2)")
        assert names(page) == ["m001", "m002", "m011"]
        assert "remainingItemCount" not in page["metadata"]
        rest = await reader.json(MAPS, **{"labelSelector": "end in (1,2)", "continue": page["metadata"]["continue"]})
        assert names(rest) == ["m012", "m021", "m022", "m031", "m032"]
        assert "continue" not in rest["metadata"]


async def test_a_page_whose_revision_is_forgotten_says_how_to_go_on_without_it() -> None:
    async with reading() as reader:
        await fill(reader, "a", "b", "c")
        token = (await reader.json(MAPS, limit=1))["metadata"]["continue"]
        await fill(reader, "aa", "d")
        await reader.store.compact(await reader.store.revision())
        status = await reader.json(MAPS, **{"continue": token, "status": 410})
        assert status["message"].startswith(EXPIRED)
        rest = await reader.json(MAPS, **{"continue": status["metadata"]["continue"]})
        assert names(rest) == ["aa", "b", "c", "d"]


async def test_who_takes_any_state_gets_all_of_it_whatever_the_limit() -> None:
    async with reading() as reader:
        await fill(reader, "a", "b", "c")
        assert names(await reader.json(MAPS, limit=1, resourceVersion=0)) == ["a", "b", "c"]


async def test_a_revision_with_a_limit_is_meant_exactly_and_without_one_at_least() -> None:
    async with reading() as reader:
        first, _ = await fill(reader, "a", "b")
        revision = first["metadata"]["resourceVersion"]
        assert names(await reader.json(MAPS, resourceVersion=revision)) == ["a", "b"]
        assert names(await reader.json(MAPS, resourceVersion=revision, resourceVersionMatch="NotOlderThan")) == [
            "a",
            "b",
        ]
        for options in ({"limit": 5}, {"resourceVersionMatch": "Exact"}):
            listed = await reader.json(MAPS, resourceVersion=revision, **options)
            assert names(listed) == ["a"]
            assert listed["metadata"]["resourceVersion"] == revision


async def test_all_namespaces_are_listed_in_the_order_of_namespace_and_name() -> None:
    async with reading() as reader:
        for path, name in ((MAPS, "b"), (MAPS.replace("default", "kube-public"), "a"), (MAPS, "c")):
            await reader.create(path, name)
        listed = await reader.json(ALL_MAPS)
        found = [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in listed["items"]]
        assert found == [("default", "b"), ("default", "c"), ("kube-public", "a")]
        page = await reader.json(ALL_MAPS, limit=1)
        assert names(await reader.json(ALL_MAPS, **{"continue": page["metadata"]["continue"]})) == ["c", "a"]


@pytest.mark.parametrize(
    ("selector", "wanted"),
    [
        ("metadata.name=b", ["b"]),
        ("metadata.name!=b", ["a", "c"]),
        ("metadata.namespace=default", ["a", "b", "c"]),
        ("metadata.namespace=default,metadata.name=a", ["a"]),
        ("metadata.namespace=other", []),
        ("metadata.name=a,metadata.name=b", []),
    ],
)
async def test_names_and_namespaces_select_in_one_namespace_as_in_all(selector: str, wanted: list[str]) -> None:
    async with reading() as reader:
        await fill(reader, "a", "b", "c")
        for path in (MAPS, ALL_MAPS):
            listed = await reader.json(path, fieldSelector=selector)
            assert names(listed) == wanted
            assert listed["metadata"]["resourceVersion"] == str(await reader.store.revision())


async def test_a_custom_resource_is_selected_by_the_fields_its_definition_lists() -> None:
    async with reading() as reader:
        spec = {"type": "object", "properties": {"size": {"type": "integer"}, "color": {"type": "string"}}}
        await reader.define_widgets(
            schema={"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
            selectableFields=[{"jsonPath": ".spec.size"}],
        )
        await reader.create(WIDGETS, "big", spec={"size": 9}, labels={"x": "y"})
        await reader.create(WIDGETS, "small", spec={"size": 1})
        assert names(await reader.json(WIDGETS, fieldSelector="spec.size=9")) == ["big"]
        assert names(await reader.json(WIDGETS, fieldSelector="spec.size=9", labelSelector="x=z")) == []
        status = await reader.json(WIDGETS, fieldSelector="spec.color=red", status=400)
        assert status["message"] == "field label not supported: spec.color"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"limit": "many"}, 'strconv.ParseInt: parsing "many": invalid syntax'),
        ({"labelSelector": "a b"}, "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ({"fieldSelector": "metadata.name"}, "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ({"fieldSelector": "x=1"}, '"x" is not a known field selector: only "metadata.name", "metadata.namespace"'),
        (
            {"resourceVersion": "-1"},
            'invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": '
            "invalid syntax",
        ),
    ],
)
async def test_a_list_that_cannot_be_understood_is_refused(query: dict[str, Any], message: str) -> None:
    async with reading() as reader:
        assert (await reader.json(MAPS, status=400, **query))["message"] == message
