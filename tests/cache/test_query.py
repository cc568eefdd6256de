"""Queries: by any path, with any comparison, with and without an index the same."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.client.test_client import Widget

from setpoint.cache.entry import CachedObject, maker, read_meta
from setpoint.cache.informer_store import IndexExists, ObjectStore
from setpoint.cache.path import PathError
from setpoint.cache.query import Query, index_label, index_path
from setpoint.client.kinds import kind_of
from setpoint.objects.tree import Object


def pod(name: str, namespace: str = "shop", **fields: Any) -> Object:
    labels = fields.pop("labels", {})
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels}, **fields}


def store_of(*trees: Object, kind: Any = "v1/Pod") -> ObjectStore[Any]:
    store: ObjectStore[Any] = ObjectStore()
    for tree in trees:
        put(store, tree, kind)
    return store


def put(store: ObjectStore[Any], tree: Object, kind: Any = "v1/Pod") -> None:
    raw = msgspec.json.encode(tree)
    held: CachedObject[Any] = CachedObject(read_meta(raw), raw, maker(kind_of(kind)))
    store.put(held.meta.key, held)


def names(query: Query[Any]) -> list[str]:
    return [held.meta.name for held in query.entries()]


PODS = (
    pod("a", labels={"app": "x"}, spec={"nodeName": "n1", "priority": 1, "hostNetwork": True}),
    pod("b", labels={"app": "y"}, spec={"nodeName": "n2", "priority": 3}, status={"phase": "Running"}),
    pod("c", "other", labels={"app": "x", "tier": "db"}, spec={"nodeName": "n1", "priority": 2}),
    pod("d", spec={"containers": [{"image": "i1"}, {"image": "i2"}]}, status={"conditions": [{"type": "Ready"}]}),
)


@pytest.mark.parametrize("indexed", [False, True], ids=["by looking", "by index"])
@pytest.mark.parametrize(
    ("path", "operator", "value", "expected"),
    [
        ("spec.nodeName", "=", "n1", "ac"),
        (".spec.nodeName", "==", "n1", "ac"),
        ("spec.nodeName", "!=", "n1", "bd"),
        ("spec.nodeName", "in", ["n2", "n3"], "b"),
        ("spec.nodeName", "notin", ["n1"], "bd"),
        ("spec.nodeName", "exists", None, "abc"),
        ("spec.nodeName", "!exists", None, "d"),
        ("spec.priority", ">", 1, "bc"),
        ("spec.priority", ">=", 2, "bc"),
        ("spec.priority", "<", 2, "a"),
        ("spec.priority", "<=", 2.5, "ac"),
        ("spec.nodeName", ">", "n1", "b"),
        ("spec.priority", ">", "1", ""),
        ("spec.hostNetwork", "=", True, "a"),
        ("spec.hostNetwork", "=", 1, ""),
        ("spec.containers[*].image", "=", "i2", "d"),
        ("spec.containers[0].image", "=", "i2", ""),
        ("spec.containers[-1].image", "=", "i2", "d"),
        ("spec.containers[*]", "=", {"image": "i1"}, "d"),
        ("metadata.name", "in", ["a", "b"], "ab"),
        ("metadata.labels['tier']", "=", "db", "c"),
        ("metadata.generation", "exists", None, ""),
        ('status.conditions[?(@.type=="Ready")].type', "exists", None, "d"),
        ("status", "exists", None, "bd"),
    ],
)
def test_objects_are_found_by_what_they_have_at_a_path(
    path: str, operator: str, value: Any, expected: str, indexed: bool
) -> None:
    store = store_of(*PODS)
    if indexed:
        index_path(store, path)
    assert sorted(names(Query(store).where(path, operator, value))) == list(expected)


def test_an_index_is_used_where_there_is_one_and_a_namespace_otherwise() -> None:
    store = store_of(*PODS)
    query = Query(store).in_namespace("shop").where("spec.nodeName", "=", "n1").labels("app=x")
    assert query.explain() == "namespace shop"
    index_label(store, "app")
    assert query.explain() == "index labels:app"
    index_path(store, "spec.nodeName")
    assert query.explain() == "index spec.nodeName"
    assert names(query) == ["a"]
    assert Query(store).where("spec.priority", ">", 1).explain() == "all objects"


def test_labels_select_as_everywhere() -> None:
    store = store_of(*PODS)
    for _ in range(2):
        assert names(Query(store).labels("app=x")) == ["a", "c"]
        assert names(Query(store).labels({"app": "x"}).labels("tier")) == ["c"]
        assert names(Query(store).labels("app in (x,y),!tier").in_namespace("shop")) == ["a", "b"]
        index_label(store, "app")


def test_field_selectors_may_name_any_field_and_see_texts() -> None:
    store = store_of(*PODS)
    for _ in range(2):
        assert names(Query(store).fields("spec.priority=1")) == ["a"]
        assert names(Query(store).fields("spec.hostNetwork=true")) == ["a"]
        assert names(Query(store).fields("spec.nodeName=")) == ["d"]
        assert names(Query(store).fields("spec.nodeName!=")) == ["a", "b", "c"]
        assert names(Query(store).fields({"spec.nodeName": "n1", "metadata.namespace": "other"})) == ["c"]
        index_path(store, "spec.priority")
        index_path(store, "spec.nodeName")


def test_the_answer_can_be_ordered_paged_and_counted() -> None:
    store = store_of(*PODS)
    query = Query(store)
    assert names(query.order_by("-spec.priority")) == ["b", "c", "a", "d"]
    assert names(query.order_by("spec.nodeName", "-metadata.name")) == ["c", "a", "b", "d"]
    assert names(query.order_by("metadata.name").skip(1).limit(2)) == ["b", "c"]
    assert query.limit(1).count() == 4
    first = query.order_by("metadata.name").page(3)
    assert ([item["metadata"]["name"] for item in first.items], first.next, first.total) == (["a", "b", "c"], 3, 4)
    assert first.next is not None
    second = query.order_by("metadata.name").page(3, first.next)
    assert ([item["metadata"]["name"] for item in second.items], second.next) == (["d"], None)
    found = query.matching(lambda tree: tree["metadata"]["name"] > "b").first()
    assert found is not None
    assert found["metadata"]["name"] == "c"
    assert query.where("spec.nodeName", "=", "nowhere").first() is None


def test_typed_objects_are_asked_by_the_names_of_the_wire() -> None:
    def tree(name: str, **fields: Any) -> Object:
        metadata = {"name": name, "namespace": "default", "creationTimestamp": f"2026-01-0{len(name)}T00:00:00Z"}
        return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, **fields}

    store = store_of(tree("a", spec={"size": 3, "weight": 7}), tree("aa", spec={}, status={"ready": True}), kind=Widget)
    assert names(Query(store).where("spec.size", "<", 3)) == ["aa"]  # one by default
    assert names(Query(store).where("spec.weight", "=", 7)) == ["a"]  # which the class does not know
    assert names(Query(store).where("status.ready", "=", True)) == ["aa"]
    assert names(Query(store).where("kind", "=", "Widget").order_by("-metadata.creationTimestamp")) == ["aa", "a"]
    assert names(Query(store).where("spec[?(@.size==3)]", "!exists")) == ["a", "aa"]


def test_what_is_no_query_is_refused_with_the_reason() -> None:
    query = Query(store_of())
    with pytest.raises(ValueError, match="unknown operator '~': expected one of =, ==, !=, in"):
        query.where("a", "~", 1)
    with pytest.raises(ValueError, match="cannot be ordered"):
        query.where("a", "<", {})
    with pytest.raises(PathError, match="invalid path"):
        query.where("a[", "exists")
    for path in ("a[", "-a["):
        with pytest.raises(PathError, match="invalid path"):
            query.order_by("b", path)
    with pytest.raises(ValueError, match="contains needs a string, not 1"):
        query.where("a", "contains", 1)
    with pytest.raises(KeyError, match="no index 'x'; known indexes: none"):
        query.by("x", 1)


def test_indexes_of_ones_own_can_be_added_at_any_time_and_follow_every_change() -> None:
    store = store_of(*PODS)

    def images(tree: Object) -> list[str]:
        return [container["image"] for container in tree["spec"]["containers"]]  # fails for most

    store.add_index("images", images)
    store.add_index("images", images)
    with pytest.raises(IndexExists):
        store.add_index("images", lambda tree: [])
    assert [held.meta.name for held in store.by_index("images", "i1")] == ["d"]
    put(store, pod("e", spec={"containers": [{"image": "i1"}]}))
    put(store, pod("d", spec={"containers": [{"image": "i3"}]}))
    assert [held.meta.name for held in store.by_index("images", "i1")] == ["e"]
    assert names(Query(store).by("images", "i3").in_namespace("shop")) == ["d"]
    store.remove("shop/e")
    assert store.by_index("images", "i1") == []


_values = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "a", "b"]), st.just(1.5))


def test_a_range_finds_a_number_that_was_a_boolean_before() -> None:
    store = store_of()
    index_path(store, "spec.x")
    for value in (False, 0):
        put(store, pod("p0", spec={"x": value}))
    assert names(Query(store).where("spec.x", "<", 1.5)) == ["p0"]
    put(store, pod("p0", spec={"x": False}))
    assert names(Query(store).where("spec.x", "<", 1.5)) == []


@given(
    st.lists(st.tuples(st.integers(0, 5), st.booleans(), _values), max_size=25),
    st.sampled_from(["=", "!=", "in", "notin", "exists", "!exists", "<", "<=", ">", ">="]),
    _values,
)
def test_an_index_never_changes_an_answer(history: list[tuple[int, bool, Any]], operator: str, value: Any) -> None:
    if operator in ("<", "<=", ">", ">=") and (value is None or isinstance(value, bool)):
        return
    if operator in ("in", "notin"):
        value = [value, 2]
    plain, indexed = store_of(), store_of()
    index_path(indexed, "spec.x")
    for number, remove, found in history:
        for store in (plain, indexed):
            if remove:
                store.remove(f"shop/p{number}")
            else:
                put(store, pod(f"p{number}", spec={} if found is None else {"x": found}))
    answers = [sorted(names(Query(store).where("spec.x", operator, value))) for store in (plain, indexed)]
    assert answers[0] == answers[1]
    assert plain.bytes == indexed.bytes == sum(held.raw_size for held in plain.all())


@pytest.mark.feature("E39")
def test_answers_are_counted_by_what_they_have_at_a_path() -> None:
    query = Query(store_of(*PODS))
    assert query.count_by("spec.nodeName") == {"n1": 2, "n2": 1, None: 1}
    assert query.count_by("spec.containers[*].image") == {None: 3, "i1": 1, "i2": 1}
    assert query.in_namespace("other").count_by("metadata.labels.app") == {"x": 1}


@pytest.mark.feature("E39")
def test_answers_are_ordered_by_labels_too_and_pages_know_the_total() -> None:
    query = Query(store_of(*PODS)).order_by("-metadata.labels['app']", "metadata.name")
    assert names(query) == ["b", "a", "c", "d"]
    page = query.page(3)
    assert ([each["metadata"]["name"] for each in page.items], page.next, page.total) == (["b", "a", "c"], 3, 4)


@pytest.mark.feature("E39")
def test_texts_are_found_by_a_part_of_them() -> None:
    query = Query(store_of(*PODS))
    assert names(query.where("status.phase", "contains", "unn")) == ["b"]
    assert names(query.where("spec.priority", "contains", "1")) == []
    with pytest.raises(ValueError, match="needs a string"):
        query.where("spec.priority", "contains", 1)


@pytest.mark.feature("E39")
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({}, ""),
        ({"*": None}, "abcd"),
        ({"other": None}, "c"),
        ({"shop": ["a", "c"], "other": ()}, "a"),
        ({"*": ["d"], "other": None}, "cd"),
    ],
)
def test_nobody_sees_more_than_is_for_him(where: dict[str, Any], expected: str) -> None:
    query = Query(store_of(*PODS)).visible(where)
    assert names(query) == list(expected)
    assert query.count() == query.page(1).total == len(expected)


@pytest.mark.feature("E39", "G36")
@pytest.mark.parametrize("indexed", [False, True], ids=["by looking", "by index"])
def test_a_label_that_was_removed_does_not_match_any_more(indexed: bool) -> None:
    store = store_of(*PODS)
    if indexed:
        index_label(store, "app")
        index_path(store, "metadata.labels.app")
    put(store, pod("a", labels={}))
    put(store, pod("c", "other", labels={"app": "y"}))
    for query in (Query(store).labels("app=x"), Query(store).where("metadata.labels.app", "=", "x")):
        assert names(query) == []
    assert sorted(names(Query(store).labels("app=y"))) == ["b", "c"]
    assert Query(store).count_by("metadata.labels.app") == {"y": 2, None: 2}
