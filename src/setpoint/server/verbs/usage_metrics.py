"""GET of metrics.k8s.io: the usage of pods and nodes, measured for every request and never stored.

The agents of nodes measure the pods on their nodes. For all other pods, such as those of a plane without nodes,
annotations may give the usage. Objects without a sample have no metrics.
"""

from collections.abc import AsyncIterator

from setpoint.node.given_usage import given_usage
from setpoint.node.usage import NodeSample, PodSample, Usage
from setpoint.objects import fields
from setpoint.objects.duration import format_duration
from setpoint.objects.errors import BadRequest, NotFound
from setpoint.objects.gvk import GroupResource
from setpoint.objects.quantity import Format, Quantity
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.server.codec.response import list_answer, object_answer
from setpoint.server.message import Response
from setpoint.server.registry.metrics_resources import GROUP
from setpoint.server.registry.object_page import ObjectPage
from setpoint.server.registry.resource import Resource
from setpoint.server.registry.selectors import ObjectSelector
from setpoint.server.request.context import Context
from setpoint.server.request.list_options import ListOptions, at_revision, list_options
from setpoint.server.request.slices import matching
from setpoint.store.contract import Item

# The interval of samples that annotations give.
_WINDOW_SECONDS = 15.0
# The objects of one read of the store, and those after which other requests run.
_PAGE, _TURN = 500, 32
# The names of the resources in the errors of metrics-server.
_PODS, _NODES = GroupResource(GROUP, "podmetrics"), GroupResource(GROUP, "nodemetrics")


async def get_pod_metrics(context: Context, resource: Resource) -> Response:
    """Answers with the usage of one pod."""
    _refuse_past(context)
    info, pods = context.info, _core(context, "pods")
    item = await context.services.store.get(pods.storage.key(info.namespace, info.name))
    pod = pods.item(item) if item is not None else None
    sample = await _pod_sample(context, pod) if pod is not None else None
    if pod is None or sample is None:
        raise NotFound.of(_PODS, f"{info.namespace}/{info.name}")
    return await object_answer(context, resource, resource.encode(_pod_metrics(resource, pod, sample)))


async def list_pod_metrics(context: Context, resource: Resource) -> Response:
    """Answers with the usage of the selected pods."""
    pods, found = _core(context, "pods"), []
    async for item in _selected(context, pods, await _options(context), context.info.namespace):
        pod = pods.item(item)
        sample = await _pod_sample(context, pod)
        if sample is not None:
            found.append(_item(resource, _pod_metrics(resource, pod, sample)))
    return await list_answer(context, resource, ObjectPage(resource, found, 0))


async def get_node_metrics(context: Context, resource: Resource) -> Response:
    """Answers with the usage of one node."""
    _refuse_past(context)
    name, nodes = context.info.name, _core(context, "nodes")
    item = await context.services.store.get(nodes.storage.key("", name))
    sample = await _NodeSamples(context, name).of(name) if item is not None else None
    if item is None or sample is None:
        raise NotFound.of(_NODES, name)
    return await object_answer(context, resource, resource.encode(_node_metrics(resource, nodes.item(item), sample)))


async def list_node_metrics(context: Context, resource: Resource) -> Response:
    """Answers with the usage of the selected nodes."""
    nodes, found = _core(context, "nodes"), []
    options = await _options(context)
    samples = _NodeSamples(context)
    async for item in _selected(context, nodes, options):
        node = nodes.item(item)
        sample = await samples.of(node["metadata"]["name"])
        if sample is not None:
            found.append(_item(resource, _node_metrics(resource, node, sample)))
    return await list_answer(context, resource, ObjectPage(resource, found, 0))


# The functions of each resource, by verb.
VERBS = {
    "pods": {"get": get_pod_metrics, "list": list_pod_metrics},
    "nodes": {"get": get_node_metrics, "list": list_node_metrics},
}


async def _options(context: Context) -> ListOptions:
    _refuse_past(context)
    return await list_options(context)


def _refuse_past(context: Context) -> None:
    if at_revision(context) is not None:
        raise BadRequest("metrics are measured at the time of the request and have no past: omit the parameter at")


def _core(context: Context, plural: str) -> Resource:
    found = context.services.registry.resource("", "v1", plural)
    assert found is not None, f"{plural} are always served"
    return found


async def _selected(
    context: Context, resource: Resource, options: ListOptions, namespace: str = ""
) -> AsyncIterator[Item]:
    """Yields the stored objects that the request selects."""
    selector = ObjectSelector(resource, namespace, options.label_selector, options.field_selector)
    if selector.is_everything:
        async for item in _stored(context, selector.prefix):
            yield item
        return
    for number, item in enumerate(await matching(context, resource, selector), 1):
        if number % _TURN == 0:
            await context.pause()
        yield item


async def _stored(context: Context, prefix: str) -> AsyncIterator[Item]:
    """Yields stored objects, and lets other requests run in between."""
    store, after = context.services.store, ""
    while True:
        page = await store.range(prefix, after, _PAGE)
        for number, item in enumerate(page.items):
            if number % _TURN == _TURN - 1:
                await context.pause()
            yield item
        if len(page.items) < _PAGE:
            return
        after = page.items[-1].key


# The samples


async def _pod_sample(context: Context, pod: Object) -> PodSample | None:
    """Returns the sample of a pod, by the agent of its node or by annotations."""
    agent = context.services.nodes.of(pod["spec"].get("nodeName", ""))
    return await agent.pod_sample(pod) if agent is not None else _given_sample(context, pod)


class _NodeSamples:
    """The samples of nodes, or of one node, for one request. Their pods are read at most once, for the first node
    without an agent."""

    def __init__(self, context: Context, only: str = "") -> None:
        self._context = context
        self._only = only
        self._given: dict[str, NodeSample] | None = None

    async def of(self, name: str) -> NodeSample | None:
        """Returns the sample of a node, by its agent or by the annotations of its pods."""
        agent = self._context.services.nodes.of(name)
        if agent is not None:
            return await agent.node_sample(name)
        if self._given is None:
            self._given = await _given_by_node(self._context, self._only)
        return self._given.get(name)


async def _given_by_node(context: Context, only: str) -> dict[str, NodeSample]:
    """Returns the samples of the nodes without an agent, or of one node: the sums of their pods with annotations."""
    found: dict[str, NodeSample] = {}
    pods = _core(context, "pods")
    on_node = fields.Selector((fields.Requirement("spec.nodeName", only),) if only else ())
    async for item in _selected(context, pods, ListOptions(field_selector=on_node)):
        # A test of the bytes, because most pods have no such annotation, and decoding takes longer.
        if b"kwok.x-k8s.io/usage-" not in item.value:
            continue
        pod = pods.item(item)
        name = pod["spec"].get("nodeName", "")
        sample = _given_sample(context, pod) if name and context.services.nodes.of(name) is None else None
        if sample is None:
            continue
        before = found[name].usage if name in found else Usage()
        cpu = before.cpu_cores + sum(each.cpu_cores for each in sample.containers.values())
        memory = before.memory_bytes + sum(each.memory_bytes for each in sample.containers.values())
        found[name] = NodeSample(sample.time, sample.window_seconds, Usage(cpu, memory))
    return found


def _given_sample(context: Context, pod: Object) -> PodSample | None:
    """Returns the sample that annotations give to a running pod."""
    cpu, memory = given_usage(pod)
    if (pod.get("status") or {}).get("phase") != "Running" or (cpu is None and memory is None):
        return None
    usage = Usage(cpu or 0.0, memory or 0)
    containers = {each["name"]: usage for each in pod["spec"]["containers"]}
    return PodSample(context.services.clock.now(), _WINDOW_SECONDS, containers)


# The objects


def _node_metrics(resource: Resource, node: Object, sample: NodeSample) -> Object:
    return {**_metrics(resource, node, sample), "usage": _amounts(sample.usage)}


def _pod_metrics(resource: Resource, pod: Object, sample: PodSample) -> Object:
    containers = [{"name": name, "usage": _amounts(usage)} for name, usage in sample.containers.items()]
    return {**_metrics(resource, pod, sample), "containers": containers}


def _metrics(resource: Resource, of: Object, sample: PodSample | NodeSample) -> Object:
    """Returns the part that the metrics of pods and of nodes share."""
    time = format_time(sample.time)
    metadata: Object = {"name": of["metadata"]["name"], "creationTimestamp": time}
    if resource.namespaced:
        metadata["namespace"] = of["metadata"]["namespace"]
    if labels := of["metadata"].get("labels"):
        metadata["labels"] = labels
    named = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
    return {**named, "timestamp": time, "window": format_duration(round(sample.window_seconds * 10**9))}


def _amounts(usage: Usage) -> Object:
    cpu = Quantity(round(usage.cpu_cores * 10**9), -9)
    return {"cpu": str(cpu), "memory": str(Quantity(usage.memory_bytes, 0, Format.BINARY_SI))}


def _item(resource: Resource, tree: Object) -> Item:
    metadata = tree["metadata"]
    return Item(resource.storage.key(metadata.get("namespace", ""), metadata["name"]), resource.encode(tree), 0, 0)
