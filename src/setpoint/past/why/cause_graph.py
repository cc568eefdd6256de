"""The chain of causes of an object's state as a graph: writes, reconciles, requests, saved files, and their order.

A pure function of the facts. Edges lead from a cause to its effect; the last effect is the symptom.
"""

from collections.abc import Iterator
from typing import NamedTuple

from setpoint.objects.times import format_micro_time
from setpoint.objects.tree import Json, Object
from setpoint.past.object_ref import ObjectReference
from setpoint.past.revision import Revision
from setpoint.past.secret_mask import masked_text
from setpoint.past.who import writer_name
from setpoint.past.why.explanation import Explanation
from setpoint.past.why.facts import Facts, Link, Wait
from setpoint.past.why.saved_files import FileRestart, Saves, last_restarts, restart_before

SYMPTOM, FILE = "symptom", "file"
MOST_NODES = 400
_MOST_TEXT = 600
# The types of triggers that are no writes, by their sources and events.
_TYPES = {"processes": "process", "timer": "timer", "requeue": "timer", "retry": "timer"}


class Node(NamedTuple):
    """One event of the graph."""

    id: str
    type: str
    title: str
    detail: str = ""
    revision: str = ""
    time: str = ""
    actor: str = ""
    object: ObjectReference | None = None
    # The saved file.
    path: str = ""

    def to_json(self) -> Object:
        place = self.object
        return {
            **self._asdict(),
            "title": masked_text(self.title)[:_MOST_TEXT],
            "detail": masked_text(self.detail)[:_MOST_TEXT],
            "path": masked_text(self.path)[:_MOST_TEXT],
            "object": None if place is None else {**place.to_json(), "resource": place.group_resource},
        }


class _Graph:
    """A graph in the making, with a bounded number of nodes."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self.nodes: dict[str, Node] = {}
        self.edges: dict[tuple[str, str], str] = {}
        self.truncated = False
        self._saves = Saves(facts)

    def add(self, node: Node, effect: str = "", label: str = "") -> bool:
        """Adds a node and the edge to its effect. Returns True for a new node."""
        is_new = node.id not in self.nodes
        if is_new:
            if len(self.nodes) >= MOST_NODES:
                self.truncated = True
                return False
            self.nodes[node.id] = node
        if effect and effect != node.id:
            self.edges.setdefault((node.id, effect), label)
        return is_new

    def add_link(self, link: Link, effect: str, label: str, depth: int) -> None:
        """Adds a write with its causes."""
        write = link.write
        own = f"write:{write.place.group_resource}:{write.place.key}:{write.number}"
        title = f"{write.place.gvk.kind} {write.place.name}: {write.summary}"
        time = format_micro_time(write.time)
        by = writer_name(write.actor, write.cause, self._facts.me)
        if not self.add(Node(own, "write", title, "", str(write.number), time, by, write.place), effect, label):
            return
        if (restart := restart_before(write)) is not None:
            self.add_file(restart, own)
        if depth <= 0:
            self.truncated = True
            return
        cause = write.cause
        if cause is None or not cause.is_reconcile:
            self.add(_request(write, by), own, "wrote")
            return
        reconcile = f"reconcile:{cause.id}"
        detail = f"claimed by {write.claimant}" if write.claimant else ""
        node = Node(reconcile, "reconcile", f"{cause.controller} reconciled {cause.key}", detail, "", time, by)
        self.add(node, own, "wrote")
        for reason, earlier in link.because:
            if earlier is not None:
                self.add_link(earlier, reconcile, reason.event, depth - 1)
                continue
            kind = _TYPES.get(reason.object) or _TYPES.get(reason.event) or "trigger"
            title = " ".join(filter(None, (reason.event, reason.kind, reason.object)))
            trigger = f"trigger:{cause.id}:{reason.event}:{reason.kind}:{reason.object}:{reason.revision}"
            self.add(Node(trigger, kind, title, "", str(reason.revision or "")), reconcile, "triggered")

    def add_file(self, restart: FileRestart, effect: str = "") -> None:
        """Adds the saved file behind a restart. Without an effect, a file without other effects led to the symptom."""
        save = self._saves.save_of(restart)
        path, more = save.files
        others = f" and of {more} more {'file' if more == 1 else 'files'}" if more else ""
        detail = f"a change of {path}{others} restarted {' and '.join(save.restarted)}"
        node = Node(save.id, FILE, f"{path} was saved", detail, "", format_micro_time(save.time), path=path)
        if node.id in self.nodes:
            self.nodes[node.id] = node
        self.add(node, effect or ("" if node.id in self.nodes else SYMPTOM), "restarted")


def _request(write: Revision, by: str) -> Node:
    """Returns the request of a client that made a write."""
    manager = write.actor.field_manager
    identity = write.cause.id if write.cause is not None else f"{write.place.key}:{write.number}"
    detail = f"user {write.actor.user}" + (f", field manager {manager}" if manager else "")
    return Node(f"request:{identity}", "request", f"request of {by}", detail, "", format_micro_time(write.time), by)


def cause_graph(facts: Facts, explanation: Explanation, *, depth: int, field: str = "") -> Object:
    """Returns the graph of the causes of a state. `depth` limits the writes in a chain; with `field`, the graph begins
    with the last write that changed that field, in the notation `spec.replicas`. Saved files are the first origins."""
    graph = _Graph(facts)
    since = "" if explanation.since is None else format_micro_time(explanation.since)
    graph.add(Node(SYMPTOM, "symptom", explanation.headline, "\n".join(explanation.details), "", since))
    for link in _chosen(facts, field):
        graph.add_link(link, SYMPTOM, "led to", depth)
    for restart in last_restarts(facts) if not field else ():
        graph.add_file(restart)
    for wait in facts.waits if not field else ():
        _add_wait(graph, wait, SYMPTOM)
    for place, line in enumerate(explanation.output if not field else ()):
        graph.add(Node(f"output:{place}", "output", line), SYMPTOM, "printed")
    effects = {effect for _, effect in graph.edges}
    origins: list[Json] = [each for each in graph.nodes if each not in effects and each != SYMPTOM]
    origins.sort(key=lambda each: graph.nodes[str(each)].type != FILE)
    return {
        "nodes": [node.to_json() for node in graph.nodes.values()],
        "edges": [{"from": cause, "to": effect, "label": label} for (cause, effect), label in graph.edges.items()],
        "symptom": SYMPTOM,
        "origins": origins,
        "truncated": graph.truncated,
        "verdict": explanation.verdict,
        "hints": list(explanation.hints),
    }


def _chosen(facts: Facts, field: str) -> Iterator[Link]:
    """Yields the writes that the graph begins with."""
    for link in facts.chain:
        paths = [change.path for change in link.write.changes]
        if not field:
            yield link
        elif any(path == field or path.startswith((f"{field}.", f"{field}[")) for path in paths):
            yield link
            return


def _add_wait(graph: _Graph, wait: Wait, effect: str) -> None:
    own = f"wait:{wait.kind}:{wait.name}:{wait.condition}"
    if graph.add(
        Node(own, "dependency", f"{wait.kind} {wait.name} to be {wait.condition}", wait.why), effect, "waits for"
    ):
        for each in wait.deeper:
            _add_wait(graph, each, own)
