"""The catalog of the system controllers: their users, and the functions that start them.

The module of a controller is imported when the controller starts, so that a plane without nodes loads no controllers
of workloads. To add a controller, add its name to `controller_names` and a row here.
"""

from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from typing import NamedTuple

from setpoint.system.controller_host import ControllerHost
from setpoint.system.controller_names import (
    CLAIM_PROTECTION,
    CRON_JOB,
    DAEMON_SET,
    DEPLOYMENT,
    DISRUPTION,
    ENDPOINT_SLICE,
    ENDPOINT_SLICE_MIRRORING,
    ENDPOINTS,
    EPHEMERAL_VOLUME,
    FINISHED_JOBS,
    GARBAGE_COLLECTOR,
    HORIZONTAL_POD_AUTOSCALER,
    JOB,
    NAMESPACE,
    NODE_LIFECYCLE,
    POD_GARBAGE_COLLECTOR,
    QUOTA,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    SCHEDULER,
    SERVICE_ACCOUNT,
    SERVICE_ACCOUNT_TOKEN,
    SERVICE_LB,
    SIMULATED_NODES,
    STATEFUL_SET,
    TAINT_EVICTION,
    VOLUME_BINDER,
    VOLUME_EXPANDER,
    VOLUME_PROTECTION,
)

MANAGER = "system:kube-controller-manager"
_ACCOUNTS = ("system:serviceaccounts", "system:serviceaccounts:kube-system")
_PREFIX = "system:serviceaccount:kube-system:"

Start = Callable[[ControllerHost], Awaitable[None]]


class CatalogEntry(NamedTuple):
    """A controller of the catalog."""

    name: str
    # `module:function` below `setpoint.system`; the function is `start` unless named.
    starter: str
    # The service account in kube-system; or a whole user with a colon.
    account: str
    # The groups of a whole user; a service account has its own.
    user_groups: Sequence[str] = ()

    @property
    def user(self) -> str:
        return self.account if ":" in self.account else _PREFIX + self.account

    @property
    def groups(self) -> Sequence[str]:
        return self.user_groups if ":" in self.account else _ACCOUNTS

    def start(self) -> Start:
        """Imports the controller, and returns its start function."""
        module, _, function = self.starter.partition(":")
        found: Start = getattr(import_module(f"setpoint.system.{module}"), function or "start")
        return found


def account(name: str) -> CatalogEntry:
    """Returns an entry with only the user of a controller that the system itself starts."""
    return CatalogEntry("", "", name)


CATALOG = (
    CatalogEntry(GARBAGE_COLLECTOR, "garbage_collector", "generic-garbage-collector"),
    CatalogEntry(NAMESPACE, "namespaces", "namespace-controller"),
    CatalogEntry(CLAIM_PROTECTION, "protection:start_claim_protection", "pvc-protection-controller"),
    CatalogEntry(VOLUME_PROTECTION, "protection:start_volume_protection", "pv-protection-controller"),
    CatalogEntry(SERVICE_ACCOUNT, "service_accounts", "service-account-controller"),
    CatalogEntry(SERVICE_ACCOUNT_TOKEN, "tokens", MANAGER),
    CatalogEntry(FINISHED_JOBS, "finished_jobs", "ttl-after-finished-controller"),
    CatalogEntry(POD_GARBAGE_COLLECTOR, "pod_garbage_collector", "pod-garbage-collector"),
    CatalogEntry(QUOTA, "quotas", "resourcequota-controller"),
    CatalogEntry(REPLICA_SET, "replicaset.controller", "replicaset-controller"),
    CatalogEntry(
        REPLICATION_CONTROLLER, "replicaset.controller:start_replication_controllers", "replication-controller"
    ),
    CatalogEntry(DEPLOYMENT, "deployment.controller", "deployment-controller"),
    CatalogEntry(SCHEDULER, "scheduler.controller", "system:kube-scheduler"),
    CatalogEntry(SIMULATED_NODES, "nodes.controller", "system:setpoint:nodes", ("system:masters",)),
    CatalogEntry(JOB, "job.controller", "job-controller"),
    CatalogEntry(CRON_JOB, "cronjob.controller", "cronjob-controller"),
    CatalogEntry(DAEMON_SET, "daemonset.controller", "daemon-set-controller"),
    CatalogEntry(DISRUPTION, "disruption.controller", "disruption-controller"),
    CatalogEntry(SERVICE_LB, "loadbalancer.controller", "service-controller"),
    CatalogEntry(ENDPOINT_SLICE, "endpointslice.controller", "endpointslice-controller"),
    CatalogEntry(ENDPOINTS, "endpoints.controller", "endpoint-controller"),
    CatalogEntry(ENDPOINT_SLICE_MIRRORING, "endpointslicemirroring.controller", "endpointslicemirroring-controller"),
    CatalogEntry(STATEFUL_SET, "statefulset.controller", "statefulset-controller"),
    CatalogEntry(HORIZONTAL_POD_AUTOSCALER, "horizontalpodautoscaler.controller", "horizontal-pod-autoscaler"),
    CatalogEntry(NODE_LIFECYCLE, "nodelifecycle.controller", "node-controller"),
    CatalogEntry(TAINT_EVICTION, "tainteviction.controller", "node-controller"),
    CatalogEntry(VOLUME_BINDER, "persistentvolume.controller", "persistent-volume-binder"),
    CatalogEntry(VOLUME_EXPANDER, "persistentvolume.expander", "expand-controller"),
    CatalogEntry(EPHEMERAL_VOLUME, "persistentvolume.ephemeral", "ephemeral-volume-controller"),
)
