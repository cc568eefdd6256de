"""The names of the system controllers, as in kube-controller-manager."""

from collections.abc import Collection

from setpoint.system.node_setting import NO_NODES, NodeSetting

GARBAGE_COLLECTOR = "garbage-collector-controller"
NAMESPACE = "namespace-controller"
SERVICE_ACCOUNT = "serviceaccount-controller"
SERVICE_ACCOUNT_TOKEN = "serviceaccount-token-controller"
ROOT_CA = "root-ca-certificate-publisher-controller"
CLAIM_PROTECTION = "persistentvolumeclaim-protection-controller"
VOLUME_PROTECTION = "persistentvolume-protection-controller"
POD_GARBAGE_COLLECTOR = "pod-garbage-collector-controller"
QUOTA = "resourcequota-controller"
FINISHED_JOBS = "ttl-after-finished-controller"
CERTIFICATE_SIGNING = "certificatesigningrequest-signing-controller"
REPLICA_SET = "replicaset-controller"
SCHEDULER = "default-scheduler"
SIMULATED_NODES = "simulated-nodes"
DEPLOYMENT = "deployment-controller"
REPLICATION_CONTROLLER = "replicationcontroller-controller"
JOB = "job-controller"
CRON_JOB = "cronjob-controller"
DAEMON_SET = "daemonset-controller"
DISRUPTION = "disruption-controller"
SERVICE_LB = "service-lb-controller"
ENDPOINT_SLICE = "endpointslice-controller"
ENDPOINTS = "endpoints-controller"
ENDPOINT_SLICE_MIRRORING = "endpointslice-mirroring-controller"
STATEFUL_SET = "statefulset-controller"
HORIZONTAL_POD_AUTOSCALER = "horizontal-pod-autoscaler-controller"
NODE_LIFECYCLE = "node-lifecycle-controller"
TAINT_EVICTION = "taint-eviction-controller"
VOLUME_BINDER = "persistentvolume-binder-controller"
VOLUME_EXPANDER = "persistentvolume-expander-controller"
EPHEMERAL_VOLUME = "ephemeral-volume-controller"
# The controllers of every control plane.
CORE_NAMES = (
    GARBAGE_COLLECTOR,
    NAMESPACE,
    SERVICE_ACCOUNT,
    SERVICE_ACCOUNT_TOKEN,
    ROOT_CA,
    CLAIM_PROTECTION,
    VOLUME_PROTECTION,
    POD_GARBAGE_COLLECTOR,
    QUOTA,
    FINISHED_JOBS,
    CERTIFICATE_SIGNING,
)
# The controllers that are defaults only with nodes: without them no pod runs.
NODE_NAMES = (
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    DEPLOYMENT,
    SCHEDULER,
    SIMULATED_NODES,
    JOB,
    CRON_JOB,
    DAEMON_SET,
    DISRUPTION,
    SERVICE_LB,
    ENDPOINT_SLICE,
    ENDPOINTS,
    ENDPOINT_SLICE_MIRRORING,
    STATEFUL_SET,
    HORIZONTAL_POD_AUTOSCALER,
    NODE_LIFECYCLE,
    TAINT_EVICTION,
    VOLUME_BINDER,
    VOLUME_EXPANDER,
    EPHEMERAL_VOLUME,
)
NAMES = (*CORE_NAMES, *NODE_NAMES)
# The controllers whose work is part of the server, unless excluded.
ROLE_AGGREGATION = "clusterrole-aggregation-controller"
POLICY_STATUS = "validatingadmissionpolicy-status-controller"
SERVER_NAMES = (ROLE_AGGREGATION, POLICY_STATUS)


def chosen(names: bool | Collection[str], nodes: NodeSetting = NO_NODES) -> frozenset[str]:
    """Returns the selected controllers: `*` stands for the defaults of the nodes, `-name` excludes one, and `-*` alone
    selects none. A name may be a list with commas, as in kube-controller-manager. Raises ValueError for an unknown
    name."""
    defaults = NAMES if nodes.has_nodes else CORE_NAMES
    if isinstance(names, bool):
        return frozenset(defaults if names else ())
    names = split_names(names)
    for name in names:
        if name.removeprefix("-") not in ("*", *NAMES, *SERVER_NAMES):
            known = ", ".join((*NAMES, *SERVER_NAMES))
            raise ValueError(f"unknown system controller {name!r}: expected one of {known}")
    everything = frozenset(defaults if "*" in names else ())
    return frozenset(name for name in NAMES if (name in names or name in everything) and f"-{name}" not in names)


def excluded_from_server(names: Collection[str]) -> frozenset[str]:
    """Returns the controllers with work in the server that are left to kube-controller-manager: excluded by `-name`, or
    by `-*` and not named."""
    names = split_names(names)
    own = (*SERVER_NAMES, QUOTA)
    return frozenset(name for name in own if f"-{name}" in names or ("-*" in names and name not in names))


def split_names(names: Collection[str]) -> list[str]:
    """Returns the single names of a selection, each possibly with `-`."""
    return [name.strip() for each in names for name in each.split(",")]
