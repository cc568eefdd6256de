"""The setting `nodes` of a control plane: `none`, or `simulated` with a number of nodes.

Without nodes no pod can run, so that the controllers of Kubernetes' workloads are not among the defaults.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from setpoint.objects.tree import Object
    from setpoint.system.node_scripts import Script, SelectedScript

NONE, SIMULATED = "none", "simulated"
# The end of a setting with all events of a kubelet.
_EVENTS = ",events"
# The most nodes of one setting: each renews a lease, and is an object that every scheduling decision may consider.
MOST_NODES = 5_000

# The annotation of a simulated node that has failed, with any value.
NODE_FAILURE = "setpoint.dev/node-failure"


class NodeSetting(NamedTuple):
    """The parsed setting: the kind of the nodes, their number, the scripts of their containers, and their stages."""

    kind: str = NONE
    number: int = 0
    scripts: "tuple[SelectedScript, ...]" = ()
    # Stages of KWOK, which were checked.
    stages: "tuple[Object, ...]" = ()
    # True if Stage objects of the API are used, too.
    has_stage_objects: bool = False
    # True to record all events of a kubelet.
    events: bool = False

    @property
    def has_nodes(self) -> bool:
        return self.number > 0

    def __str__(self) -> str:
        number = "" if self.number <= 1 else f":{self.number}"
        return f"{self.kind}{number}{_EVENTS if self.events else ''}"


NO_NODES = NodeSetting()


def parse_nodes(text: "str | NodeSetting") -> NodeSetting:
    """Parses `none`, `simulated` (one node) or `simulated:N`, the latter two also with `,events` at the end; a parsed
    setting is returned unchanged. Raises ValueError with the accepted forms."""
    if isinstance(text, NodeSetting):
        return text
    if text == NONE:
        return NO_NODES
    kind, colon, digits = text.removesuffix(_EVENTS).partition(":")
    events = text.endswith(_EVENTS)
    if kind == SIMULATED and not colon:
        return NodeSetting(SIMULATED, 1, events=events)
    if kind == SIMULATED and digits.isascii() and digits.isdecimal() and 1 <= int(digits) <= MOST_NODES:
        return NodeSetting(SIMULATED, int(digits), events=events)
    raise ValueError(
        f"invalid nodes {text!r}: expected none, simulated, or simulated:N with N from 1 to {MOST_NODES}; "
        f"simulated{_EVENTS} records all events of a kubelet"
    )


def simulated(
    number: int = 1,
    *,
    scripts: "Mapping[str, Script] | None" = None,
    stages: "Sequence[Object]" = (),
    stage_objects: bool = False,
    events: bool = False,
) -> NodeSetting:
    """Returns the setting for simulated nodes with scripts, by label selectors (`app=web`; empty for all pods). Of
    several matching scripts, the first one with a result counts. `stages` are Stages of KWOK as trees; with
    `stage_objects`, Stage objects of the API are used, too. With `events`, all events of a kubelet are recorded
    (Pulled, Created, Started, Killing, Unhealthy). Raises ValueError, or an error of the selector."""
    # Most planes have no scripts: their start does not wait for these modules.
    from setpoint.objects.labels import parse
    from setpoint.system.node_scripts import SelectedScript

    found = parse_nodes(f"{SIMULATED}:{number}")
    selected = tuple(SelectedScript(parse(selector), script) for selector, script in (scripts or {}).items())
    return with_stages(found._replace(scripts=selected, events=events), stages, stage_objects=stage_objects)


def with_stages(nodes: NodeSetting, stages: "Sequence[Object]", *, stage_objects: bool = False) -> NodeSetting:
    """Returns a setting with Stages of KWOK. Raises ValueError with the field and the remedy, or without nodes."""
    if not stages and not stage_objects:
        return nodes
    if not nodes.has_nodes:
        raise ValueError("stages need simulated nodes: add --nodes simulated")
    from setpoint.system.stages.stage import check_stages

    return nodes._replace(stages=check_stages(stages), has_stage_objects=stage_objects)
