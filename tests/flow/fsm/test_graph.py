"""The graph of states is found in their code, checked, and shown as text and as a picture."""

import re
import sys
from pathlib import Path
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
