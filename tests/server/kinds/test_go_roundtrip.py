"""Built-in objects take the form that Go's structs would give them, whatever form they were sent in."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects.tree import copy
from setpoint.schema import builtin
from setpoint.server.registry.kinds.gotypes.empty_lists import nullify_empty
from setpoint.server.registry.kinds.gotypes.roundtrip import normalize

CORE = "io.k8s.api.core.v1."


def _normal(kind: str, body: Any) -> Any:
    tree = copy(body)
    assert normalize(tree, CORE + kind) == []
    return tree


def test_empty_values_are_dropped_unless_go_has_a_pointer_to_them() -> None:
    spec = {
        "hostNetwork": False,
        "nodeName": "",
        "nodeSelector": {},
        "tolerations": [],
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
        "affinity": {},
        "containers": [],
    }
    # A list that is always written stays: whoever sent it owns it.
    assert _normal("Pod", {"spec": spec})["spec"] == {
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
        "affinity": {},
        "containers": [],
    }


def test_lists_that_are_always_written_come_back_from_the_store_as_null() -> None:
    tree = _normal("Pod", {"spec": {"containers": [], "affinity": {"nodeAffinity": {}}}})
    terms: Any = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
    tree["spec"]["affinity"]["nodeAffinity"] = terms
    nullify_empty(tree, CORE + "Pod")
    assert tree["spec"]["containers"] is None
    assert terms == {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": None}}
    assert _normal("Pod", {"spec": {}})["spec"]["containers"] is None


def test_a_null_is_an_absent_field() -> None:
    assert _normal("ConfigMap", {"metadata": {"name": "a", "creationTimestamp": None}, "data": None}) == {
        "metadata": {"name": "a"}
    }


def test_a_null_inside_a_map_or_list_is_an_empty_value() -> None:
    assert _normal("ConfigMap", {"data": {"k": None}})["data"] == {"k": ""}
    assert _normal("Secret", {"data": {"k": None}})["data"] == {"k": ""}
    assert _normal("Pod", {"spec": {"containers": [{"name": "c", "args": [None]}]}})["spec"]["containers"] == [
        {"name": "c", "args": [""], "resources": {}}
    ]


def test_what_go_always_writes_is_there() -> None:
    event = _normal("Event", {"metadata": {"name": "a"}, "involvedObject": {}})
    assert event["source"] == {}
    assert event["eventTime"] is None
    assert event["reportingComponent"] == ""
    assert _normal("Service", {}) == {"metadata": {}, "spec": {}, "status": {"loadBalancer": {}}}
    assert _normal("ConfigMap", {}) == {"metadata": {}}


def test_published_defaults_are_filled_in() -> None:
    ports = _normal("Service", {"spec": {"ports": [{"port": 80}]}})["spec"]["ports"]
    assert ports == [{"port": 80, "protocol": "TCP", "targetPort": 0}]


@pytest.mark.parametrize(
    ("sent", "served"), [("1000m", "1"), (0.5, "500m"), (2, "2"), ("1024Ki", "1Mi"), ("1e3", "1e3"), ("0.10", "100m")]
)
def test_amounts_have_one_way_to_be_written(sent: Any, served: str) -> None:
    quota = _normal("ResourceQuota", {"spec": {"hard": {"cpu": sent}}})
    assert quota["spec"]["hard"]["cpu"] == served


def test_times_are_in_utc_and_bytes_have_one_encoding() -> None:
    event = _normal(
        "Event", {"firstTimestamp": "2024-01-01T02:00:00+02:00", "eventTime": "2024-01-01T02:00:00.500000+02:00"}
    )
    assert event["firstTimestamp"] == "2024-01-01T00:00:00Z"
    assert event["eventTime"] == "2024-01-01T00:00:00.500000Z"
    assert _normal("Secret", {"data": {"k": "ZGF0\nYQ=="}})["data"] == {"k": "ZGF0YQ=="}


def test_fields_that_the_kind_does_not_have_are_dropped_and_named() -> None:
    tree = {
        "metadata": {"name": "a", "bogus": 1},
        "spec": {"containers": [{"name": "c", "zz": 1, "ports": [{"containerPort": 1, "yy": 2}]}]},
        "Spec": {},
    }
    unknown = normalize(tree, CORE + "Pod")
    assert sorted(unknown) == ["Spec", "metadata.bogus", "spec.containers[0].ports[0].yy", "spec.containers[0].zz"]
    assert "zz" not in tree["spec"]["containers"][0]  # type: ignore[index]


@pytest.mark.parametrize(
    ("kind", "body", "problem"),
    [
        ("ConfigMap", {"data": 1}, "number into Go struct field ConfigMap.data of type map[string]string"),
        ("ConfigMap", {"data": {"a": True}}, "bool into Go struct field ConfigMap.data of type string"),
        ("Pod", {"spec": []}, "array into Go struct field Pod.spec of type v1.PodSpec"),
        (
            "Pod",
            {"spec": {"containers": ["x"]}},
            "string into Go struct field PodSpec.spec.containers of type v1.Container",
        ),
        (
            "Pod",
            {"spec": {"containers": [{"imagePullPolicy": 1}]}},
            "number into Go struct field Container.spec.containers.imagePullPolicy of type v1.PullPolicy",
        ),
        (
            "Service",
            {"spec": {"ports": [{"port": 2**31}]}},
            "number 2147483648 into Go struct field ServicePort.spec.ports.port of type int32",
        ),
        (
            "Service",
            {"spec": {"ports": [{"port": 1.5}]}},
            "number 1.5 into Go struct field ServicePort.spec.ports.port of type int32",
        ),
        (
            "Service",
            {"spec": {"ports": [{"targetPort": True}]}},
            "bool into Go struct field ServicePort.spec.ports.targetPort of type int32",
        ),
        (
            "PodTemplate",
            {"template": {"metadata": {"labels": {"a": 1}}}},
            "number into Go struct field ObjectMeta.template.metadata.labels of type string",
        ),
    ],
)
def test_values_of_the_wrong_type_are_refused_in_the_words_of_go(kind: str, body: Any, problem: str) -> None:
    with pytest.raises(ValueError, match="cannot unmarshal") as refused:
        normalize(copy(body), CORE + kind)
    assert str(refused.value) == f"json: cannot unmarshal {problem}"


def test_amounts_and_bytes_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="quantities must match the regular expression"):
        normalize({"spec": {"hard": {"cpu": "lots"}}}, CORE + "ResourceQuota")
    with pytest.raises(ValueError, match="illegal base64 data at input byte 2"):
        normalize({"data": {"k": "eA!="}}, CORE + "Secret")


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**40) | st.floats(-9, 9) | st.text("a1.:/=", max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "spec"]), inner, max_size=3),
    max_leaves=6,
)
_KINDS = sorted(name for name in builtin.kinds().values() if name.startswith("io.k8s.api."))


@given(st.data())
def test_the_normal_form_of_anything_is_its_own_normal_form(data: st.DataObject) -> None:
    definition = data.draw(st.sampled_from(_KINDS))
    fields = sorted(builtin.definition(definition)["properties"])
    tree = data.draw(st.dictionaries(st.sampled_from(fields), _json, max_size=4))
    try:
        normalize(tree, definition)
    except ValueError:
        return
    again = copy(tree)
    assert normalize(again, definition) == []
    assert again == tree


@given(st.binary(max_size=40))
def test_bytes_in_their_normal_form_stay_as_they_are(data: bytes) -> None:
    text = base64.b64encode(data).decode()
    assert _normal("Secret", {"data": {"k": text}})["data"] == {"k": text}
