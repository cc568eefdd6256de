"""The graph of states is found in their code, checked, and shown as text and as a picture."""

import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from tests.flow.fsm.worlds import FINALIZER, Bucket

from setpoint.cli.main import main
from setpoint.controller.context import Context
from setpoint.flow import fsm as flow
from setpoint.flow.fsm import FSM, Done, Fail, Next, Outputs, Wait
from setpoint.flow.fsm.picture import svg
from setpoint.flow.fsm.state_graph import GraphError

bucket_fsm = FSM(Bucket, finalizer=FINALIZER)


@bucket_fsm.state("CredentialsIssued")
async def credentials(ctx: Context, found: Bucket, out: Outputs) -> Next:
    return by_region(found)


def by_region(found: Bucket) -> Next:
    return provisioned if found.spec.region else replicated


@bucket_fsm.state("BucketProvisioned")
async def provisioned(ctx: Context, found: Bucket, out: Outputs) -> Next:
    if not found.spec.region:
        return flow.Wait(10)
    return published if found.spec.wait else Done(requeue_after=60)


@bucket_fsm.state("Replicated")
async def replicated(ctx: Context, found: Bucket, out: Outputs) -> Next:
    return published if found.spec.wait else Fail("NoRegion", terminal=True)


@bucket_fsm.state("Published")
async def published(ctx: Context, found: Bucket, out: Outputs) -> Next:
    return children_ready


children_ready = bucket_fsm.wait_ready("ChildrenReady")


@bucket_fsm.finalize("Drained")
async def drained(ctx: Context, found: Bucket, out: Outputs) -> Next:
    return removed if found.spec.wait else Wait(5)


@bucket_fsm.finalize("Removed")
async def removed(ctx: Context, found: Bucket, out: Outputs) -> Next:
    return Done


TEXT = """\
storage.example.com/v1/Bucket
CredentialsIssued (credentials) -> BucketProvisioned | Replicated
BucketProvisioned (provisioned) -> Published | done  [wait]
Replicated (replicated) -> Published  [fail]
Published (published) -> ChildrenReady
ChildrenReady (children_ready) -> done  [wait]

storage.example.com/v1/Bucket, on deletion
Drained (drained) -> Removed  [wait]
Removed (removed) -> gone
"""


def test_the_command_prints_the_graph() -> None:
    found = CliRunner().invoke(main, ["fsm", f"{__name__}:bucket_fsm"])
    assert found.output == TEXT


def test_the_command_writes_a_picture_in_which_no_boxes_overlap(tmp_path: Path) -> None:
    file = tmp_path / "bucket.svg"
    assert CliRunner().invoke(main, ["fsm", f"{__name__}:bucket_fsm", "--svg", str(file)]).exit_code == 0
    tree = ElementTree.parse(file).getroot()
    boxes = [[float(each.attrib[name]) for name in ("x", "y", "width", "height")] for each in tree.iter(_name("rect"))]
    assert len(boxes) == 7
    for number, (x, y, width, height) in enumerate(boxes):
        assert 0 <= x <= x + width <= float(tree.attrib["width"])
        assert 0 <= y <= y + height <= float(tree.attrib["height"])
        for other in boxes[number + 1 :]:
            apart = x + width <= other[0] or other[0] + other[2] <= x or y + height <= other[1]
            assert apart or other[1] + other[3] <= y
    texts = {each.text for each in tree.iter(_name("text"))}
    assert {"CredentialsIssued", "ChildrenReady", "ready", "gone"} <= texts


def test_each_arrow_leads_from_the_bottom_of_a_box_to_the_top_of_another() -> None:
    tree = ElementTree.fromstring(svg([("Bucket", bucket_fsm.graph())]))
    tops, bottoms = set(), set()
    for box in tree.iter(_name("rect")):
        x, y, width, height = (float(box.attrib[name]) for name in ("x", "y", "width", "height"))
        tops.add((x + width / 2, y))
        bottoms.add((x + width / 2, y + height))
    for end in tree.iter(_name("ellipse")):
        x, y, radius = (float(end.attrib[name]) for name in ("cx", "cy", "ry"))
        tops.add((x, y - radius))
    paths = [
        re.findall(r"[-0-9.]+", each.attrib["d"]) for each in tree.iter(_name("path")) if "marker-end" in each.attrib
    ]
    assert len(paths) == 7
    for path in paths:
        first, last = tuple(map(float, path[:2])), tuple(map(float, path[-2:]))
        assert _is_near(first, bottoms)
        assert _is_near(last, tops)


async def somewhere(ctx: Context, found: Bucket, out: Outputs) -> Any:
    """Leads to the states of `then` only."""
    return ctx.state


def declared(**states: list[str]) -> FSM:
    """A machine of states with these transitions."""
    fsm = FSM(Bucket)
    for condition, following in states.items():
        fsm.state(condition, then=following)(somewhere)
    return fsm


def boxes_of(tree: ElementTree.Element) -> dict[str, tuple[float, float, float, float]]:
    """Returns left, top, right and bottom of each state."""
    found = {}
    for group in tree.iter(_name("g")):
        [box] = group.iter(_name("rect"))
        x, y, width, height = (float(box.attrib[name]) for name in ("x", "y", "width", "height"))
        found[group.findtext(_name("title")) or ""] = (x, y, x + width, y + height)
    return found


def test_rows_are_centred_and_the_picture_has_a_margin_on_all_sides() -> None:
    fsm = declared(First=["Left", "Right", "AStateWithAVeryLongName"], Left=["Last"], Right=["Last"], Last=[])
    fsm.state("AStateWithAVeryLongName", then=["Last"])(somewhere)
    tree = ElementTree.fromstring(svg([("Bucket", fsm.graph())]))
    width, height = float(tree.attrib["width"]), float(tree.attrib["height"])
    assert tree.attrib["viewBox"] == f"0 0 {width:g} {height:g}"
    rows: dict[float, list[tuple[float, float]]] = {}
    for left, top, right, _ in boxes_of(tree).values():
        rows.setdefault(top, []).append((left, right))
    assert [len(row) for _, row in sorted(rows.items())] == [1, 3, 1]
    for row in rows.values():
        assert min(row)[0] == pytest.approx(width - max(row)[1], abs=0.1)
        assert all(two[0] - one[1] == pytest.approx(36, abs=0.1) for one, two in pairwise(sorted(row)))
    assert min(min(row)[0] for row in rows.values()) == pytest.approx(24)
    [end] = tree.iter(_name("ellipse"))
    assert float(end.attrib["cx"]) == pytest.approx(width / 2)
    assert float(end.attrib["cy"]) + float(end.attrib["ry"]) + 24 <= height
    sizes = {name: right - left for name, (left, _, right, _) in boxes_of(tree).items()}
    assert sizes["First"] == pytest.approx(sizes["Left"])
    assert sizes["First"] < sizes["AStateWithAVeryLongName"]
    assert 60 < 2 * float(end.attrib["rx"]) < sizes["First"], "an end is smaller than a state, with space for its text"
    [title] = [float(each.attrib["y"]) for each in tree.iter(_name("text")) if each.get("class") == "title"]
    assert 0 < boxes_of(tree)["First"][1] - title < 30, "the first state is directly below the title"


def test_the_pictures_of_several_graphs_are_below_each_other() -> None:
    finalizers = bucket_fsm.finalizer_graph()
    assert finalizers is not None
    single = ElementTree.fromstring(svg([("One", bucket_fsm.graph())]))
    both = ElementTree.fromstring(svg([("One", bucket_fsm.graph()), ("Two & more", finalizers)]))
    assert next(each.text for each in both.iter(_name("title"))) == "One; Two & more"
    titles = {each.text: float(each.attrib["y"]) for each in both.iter(_name("text")) if each.get("class") == "title"}
    last = max(float(each.attrib["cy"]) for each in single.iter(_name("ellipse")))
    assert titles["One"] < last < titles["Two & more"]
    ends = sorted(float(each.attrib["cy"]) for each in both.iter(_name("ellipse")))
    assert ends[0] == last
    assert titles["Two & more"] < ends[1] < float(both.attrib["height"])
    assert both.attrib["width"] == single.attrib["width"], "that of the widest graph"


def test_a_graph_without_a_ready_state_has_no_end() -> None:
    fsm = FSM(Bucket)

    @fsm.state("Broken")
    async def broken(ctx: Context, found: Bucket, out: Outputs) -> Next:
        return Fail("Always", terminal=True)

    tree = ElementTree.fromstring(svg([("Bucket", fsm.graph())]))
    assert list(tree.iter(_name("ellipse"))) == []
    assert [each.text for each in tree.iter(_name("title"))] == ["Bucket", "Broken; may fail"]


def test_a_state_that_only_waits_leads_nowhere() -> None:
    fsm = declared(First=["Stuck", "Next"], Next=["Last"], Last=[])

    @fsm.state("Stuck")
    async def stuck(ctx: Context, found: Bucket, out: Outputs) -> Next:
        return Wait(10)

    tree = ElementTree.fromstring(svg([("Bucket", fsm.graph())]))
    assert sum("marker-end" in each.attrib for each in tree.iter(_name("path"))) == 4
    assert boxes_of(tree)["Stuck; may wait"][1] == boxes_of(tree)["Next"][1], "in the same row"


def test_an_edge_over_several_rows_bends_around_the_states_between() -> None:
    tree = ElementTree.fromstring(
        svg([("Bucket", declared(First=["Between", "Last"], Between=["Last"], Last=[]).graph())])
    )
    left, top, right, bottom = boxes_of(tree)["Between"]
    paths = [
        re.findall(r"[-0-9.]+", each.attrib["d"]) for each in tree.iter(_name("path")) if "marker-end" in each.attrib
    ]
    assert sorted(map(len, paths)) == [8, 8, 8, 14]
    x, y = (float(number) for number in max(paths, key=len)[6:8])
    assert top < y < bottom, "the bend is beside the state"
    assert not left <= x <= right


def test_edges_do_not_cross_if_the_order_of_states_can_prevent_that() -> None:
    fsm = declared(First=["A", "B"], A=["D"], B=["C"], C=["Last"], D=["Last"], Last=[])
    found = boxes_of(ElementTree.fromstring(svg([("Bucket", fsm.graph())])))
    assert (found["A"][0] < found["B"][0]) == (found["D"][0] < found["C"][0])


def _is_near(point: tuple[float, ...], others: set[tuple[float, float]]) -> bool:
    return any(point == pytest.approx(other, abs=0.01) for other in others)


def _name(tag: str) -> str:
    return f"{{http://www.w3.org/2000/svg}}{tag}"


def test_the_picture_shows_where_an_object_is() -> None:
    picture = svg([("Bucket", bucket_fsm.graph())], {"CredentialsIssued": "True", "BucketProvisioned": "False"})
    assert re.findall(r'<rect class="([^"]*)"', picture) == ["first True", "False", "", "", ""]


def test_the_command_says_what_is_wrong() -> None:
    for target, wrong in {
        "nothing": "expected MODULE:FSM",
        "there.is.none:fsm": "module there.is.none not found",
        f"{__name__}:TEXT": f"is not an FSM; {__name__} has bucket_fsm",
    }.items():
        found = CliRunner().invoke(main, ["fsm", target])
        assert found.exit_code != 0
        assert wrong in found.output
    assert "setpoint.cli.controllers.fsm" in sys.modules


async def nothing(ctx: Context, found: Bucket, out: Outputs) -> Next:
    return Done()


@pytest.mark.feature("E2", "E4")
def test_circles_strays_and_ways_out_of_the_machine_are_refused_before_anything_runs() -> None:
    circle, stray, crossing, bare = FSM(Bucket), FSM(Bucket), FSM(Bucket), FSM(Bucket)
    circle.state("One", then=["Two"])(nothing)
    circle.state("Two", then=["One"])(nothing)
    stray.state("One")(nothing)
    stray.state("Two")(nothing)
    last = crossing.finalize("Removed")(nothing)
    crossing.state("One", then=[last])(nothing)
    bare.state("One")(nothing)
    bare.finalize("Removed")(nothing)
    for fsm, wrong in {
        circle: "form a cycle: One -> Two -> One",
        stray: "the state Two is unreachable",
        crossing: "leads to Removed, which is for objects that are being deleted",
        bare: "need a finalizer",
        FSM(Bucket): "there are no states",
    }.items():
        with pytest.raises(GraphError, match=wrong):
            fsm.controller()
    with pytest.raises(GraphError, match="already"):
        circle.state("One")(nothing)


def test_a_state_may_have_functions_and_variables_of_its_own() -> None:
    fsm = FSM(Bucket)
    last = fsm.state("Last", then=[])(nothing)

    @fsm.state("First")
    async def first(ctx: Context, found: Bucket, out: Outputs) -> Next:
        regions = [found.spec.region]

        def is_known(region: str) -> bool:
            return region in regions

        regions.append("south")
        return last if is_known("south") else Wait(5)

    fsm.states.reverse()
    assert fsm.graph().text() == "First (first) -> Last  [wait]\nLast (nothing) -> done"
