"""All workload kinds in the order of their installation, and the kinds that a server has in addition."""

from setpoint.schema.types import Resource
from setpoint.workload.kinds.app import App
from setpoint.workload.kinds.container import Container
from setpoint.workload.kinds.container_exec import ContainerExec
from setpoint.workload.kinds.container_network import ContainerNetwork
from setpoint.workload.kinds.container_network_connection import ContainerNetworkConnection
from setpoint.workload.kinds.container_network_tunnel_proxy import ContainerNetworkTunnelProxy
from setpoint.workload.kinds.container_volume import ContainerVolume
from setpoint.workload.kinds.endpoint import Endpoint
from setpoint.workload.kinds.executable import Executable
from setpoint.workload.kinds.executable_replica_set import ExecutableReplicaSet
from setpoint.workload.kinds.service import Service
from setpoint.workload.kinds.task import Task

KINDS: tuple[type[Resource], ...] = (
    Executable,
    ExecutableReplicaSet,
    Container,
    ContainerNetwork,
    ContainerNetworkConnection,
    ContainerVolume,
    ContainerExec,
    ContainerNetworkTunnelProxy,
    Service,
    Endpoint,
    Task,
)
# The installed kinds: an App has no controller, and no dependents.
SERVED: tuple[type[Resource], ...] = (*KINDS, App)
