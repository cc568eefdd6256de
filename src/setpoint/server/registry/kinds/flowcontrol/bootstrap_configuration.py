"""The FlowSchemas and PriorityLevelConfigurations of every cluster, as kube-apiserver suggests them. Two of each kind
are mandatory: their specs are fixed."""

from collections.abc import Sequence

from setpoint.objects.tree import Object

GROUP, VERSION = "flowcontrol.apiserver.k8s.io", "v1"
EXEMPT, CATCH_ALL = "exempt", "catch-all"

_AUTO_UPDATE = "apf.kubernetes.io/autoupdate-spec"
_EVERY = {
    "verbs": ["*"],
    "apiGroups": ["*"],
    "resources": ["*"],
    "clusterScope": True,
    "namespaces": ["*"],
}
_EVERY_URL = {"verbs": ["*"], "nonResourceURLs": ["*"]}
_LEASES = {
    "verbs": ["*"],
    "apiGroups": ["coordination.k8s.io"],
    "resources": ["leases"],
    "namespaces": ["*"],
}


def _group(name: str) -> Object:
    return {"kind": "Group", "group": {"name": name}}


def _user(name: str) -> Object:
    return {"kind": "User", "user": {"name": name}}


_EVERYBODY = [_group("system:unauthenticated"), _group("system:authenticated")]
_NODES = [_group("system:nodes")]
_CONTROLLERS, _SCHEDULER = _user("system:kube-controller-manager"), _user("system:kube-scheduler")


def _account(name: str) -> Object:
    return {"kind": "ServiceAccount", "serviceAccount": {"name": name, "namespace": "kube-system"}}


_SYSTEM_ACCOUNTS = _account("*")


def _level(name: str, shares: int, lendable: int, queues: int = 0, hand_size: int = 0) -> Object:
    response: Object = {"type": "Reject"}
    if queues:
        response = {"type": "Queue", "queuing": {"queues": queues, "handSize": hand_size, "queueLengthLimit": 50}}
    limited = {"nominalConcurrencyShares": shares, "lendablePercent": lendable, "limitResponse": response}
    return _object("PriorityLevelConfiguration", name, {"type": "Limited", "limited": limited})


def _schema(
    name: str,
    level: str,
    precedence: int,
    subjects: Sequence[Object],
    resources: Sequence[Object] = (_EVERY,),
    urls: Sequence[Object] = (_EVERY_URL,),
    by: str = "",
) -> Object:
    rule: Object = {"subjects": [*subjects]}
    if resources:
        rule["resourceRules"] = [*resources]
    if urls:
        rule["nonResourceRules"] = [*urls]
    spec: Object = {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": precedence,
        "rules": [rule],
    }
    if by:
        spec["distinguisherMethod"] = {"type": by}
    return _object("FlowSchema", name, spec)


def _object(kind: str, name: str, spec: Object) -> Object:
    metadata = {"name": name, "generation": 1, "annotations": {_AUTO_UPDATE: "true"}}
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": kind, "metadata": metadata, "spec": spec, "status": {}}


def levels() -> list[Object]:
    """Returns the PriorityLevelConfigurations, the mandatory ones first."""
    nothing = {"nominalConcurrencyShares": 0, "lendablePercent": 0}
    return [
        _object("PriorityLevelConfiguration", EXEMPT, {"type": "Exempt", "exempt": nothing}),
        _level(CATCH_ALL, 5, 0),
        _level("system", 30, 33, 64, 6),
        _level("node-high", 40, 25, 64, 6),
        _level("leader-election", 10, 0, 16, 4),
        _level("workload-high", 40, 50, 128, 6),
        _level("workload-low", 100, 90, 128, 6),
        _level("global-default", 20, 50, 128, 6),
    ]


def schemas() -> list[Object]:
    """Returns the FlowSchemas, the mandatory ones first."""
    probes = {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"]}
    elections = {**_LEASES, "verbs": ["get", "create", "update"]}
    nodes = {**_EVERY, "apiGroups": [""], "resources": ["nodes", "nodes/status"]}
    leaders = (_CONTROLLERS, _SCHEDULER, _SYSTEM_ACCOUNTS)
    high, node_high = "workload-high", "node-high"
    return [
        _schema(EXEMPT, EXEMPT, 1, [_group("system:masters")]),
        _schema(CATCH_ALL, CATCH_ALL, 10000, _EVERYBODY, by="ByUser"),
        _schema("probes", EXEMPT, 2, _EVERYBODY, (), (probes,)),
        _schema("system-leader-election", "leader-election", 100, leaders, (elections,), (), by="ByUser"),
        _schema("system-node-high", node_high, 400, _NODES, (nodes, _LEASES), (), by="ByUser"),
        _schema("system-nodes", "system", 500, _NODES, by="ByUser"),
        _schema("kube-controller-manager", high, 800, [_CONTROLLERS], by="ByNamespace"),
        _schema("kube-scheduler", high, 800, [_SCHEDULER], by="ByNamespace"),
        _schema("kube-system-service-accounts", high, 900, [_SYSTEM_ACCOUNTS], by="ByNamespace"),
        _schema("service-accounts", "workload-low", 9000, [_group("system:serviceaccounts")], by="ByUser"),
        _schema("global-default", "global-default", 9900, _EVERYBODY, by="ByUser"),
    ]


def mandatory_spec(kind: str, name: str) -> Object | None:
    """Returns the fixed spec of a mandatory object, or None for every other object."""
    if name not in (EXEMPT, CATCH_ALL):
        return None
    found = levels() if kind == "PriorityLevelConfiguration" else schemas()
    spec: Object = next(tree["spec"] for tree in found if tree["metadata"]["name"] == name)
    return spec
