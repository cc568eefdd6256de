"""What a class writes, its own schema accepts and fills in as the class would: a law over random objects."""

from datetime import UTC, datetime
from functools import cache

from hypothesis import given
from hypothesis import strategies as st
from tests.schema.types.test_resources import Part, Widget, WidgetSpec, WidgetStatus

from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import copy
from setpoint.schema.compile import CompiledSchema, compile_schema
from setpoint.schema.openapi import Schema
from setpoint.schema.types import Duration, ObjectMeta
from setpoint.schema.validation import validate_object

texts = st.text(max_size=9)
names = st.lists(st.text(alphabet="abc", min_size=1, max_size=3), unique=True, max_size=3)
durations = st.integers(0, 10**12).map(lambda count: Duration(microseconds=count))
moments = st.integers(0, 2**31).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))


@st.composite
def widgets(draw: st.DrawFn) -> Widget:
    size = draw(st.integers(1, 10))
    spec = WidgetSpec(
        size=size,
        color="red" if size >= 5 else draw(st.sampled_from(["red", "blue"])),
        parts=[Part(name=name, count=draw(st.integers(-(2**31), 2**31))) for name in draw(names)],
        replicas=draw(st.integers(0, 2**31 - 1)),
        wait_for=draw(st.none() | durations),
        memory=draw(st.none() | st.integers(0, 2**40).map(lambda count: Quantity.parse(str(count)))),
        owner=draw(st.none() | texts),
    )
    status = draw(st.none() | st.builds(WidgetStatus, ready_since=st.none() | moments, selector=texts))
    return Widget(metadata=ObjectMeta(name="w"), spec=spec, status=status)


@cache
def compiled() -> CompiledSchema:
    return compile_schema(Schema.parse(Widget.crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]))


@given(widgets())
def test_an_object_survives_its_schema(widget: Widget) -> None:
    tree = widget.to_json()
    stored = copy(tree)
    assert compiled().prune(stored) == []
    assert stored == tree
    compiled().default(stored)
    assert validate_object(compiled(), stored).errors == []
    assert Widget.from_json(stored) == widget


def test_the_schema_refuses_what_the_markers_forbid() -> None:
    tree = Widget(spec=WidgetSpec(size=99, color="blue")).to_json()
    compiled().default(tree)
    fields = {error.field for error in validate_object(compiled(), tree).errors}
    assert "spec.size" in fields
