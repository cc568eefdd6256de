"""The names of the workload kinds in the API, and their annotations and labels: DCP's names where DCP has them.

They are separate from the classes, so that code that works with untyped objects does not import the classes.
"""

GROUP = "usvc-dev.developer.microsoft.com"
OWN_GROUP = "setpoint.dev"
VERSION = "v1"
CATEGORY = "workloads"

# The kinds with logs, by the names of their resources.
LOGGED = {"executables": "Executable", "containers": "Container", "containerexecs": "ContainerExec"}

# The finalizers of the controllers, by kind. Objects are created with them (`admin.finalizer_admission`).
FINALIZERS = {
    "Executable": f"{GROUP}/executable-reconciler",
    "ExecutableReplicaSet": f"{GROUP}/executable-replica-set-reconciler",
    "Service": f"{GROUP}/service-reconciler",
    "Container": f"{GROUP}/container-reconciler",
    "ContainerExec": f"{GROUP}/container-exec-reconciler",
    "ContainerNetwork": f"{GROUP}/network-reconciler",
    "ContainerNetworkTunnelProxy": f"{GROUP}/tunnel-proxy-reconciler",
    "ContainerVolume": f"{GROUP}/volume-reconciler",
    "Task": f"{OWN_GROUP}/task-reconciler",
}

# The labels of objects that an app file renders: the app, its session, and the service or task of the object.
APP_LABEL, SESSION_LABEL, PART_LABEL = "setpoint.dev/app", "setpoint.dev/session", "setpoint.dev/part"
# The prefix of the labels of groups of services and tasks; each value is "true".
GROUP_LABEL = "group.setpoint.dev/"
# The URL scheme of a Service.
SCHEME = "setpoint.dev/scheme"
SERVICE_PRODUCER = "service-producer"
# On a ContainerVolume that is being deleted: removes the volume although the volume is persistent.
REMOVE_VOLUME = "setpoint.dev/remove-volume"
RESTART_REQUESTED = "setpoint.dev/restart-requested-at"
# With a request for a run of a task: additional arguments, as a JSON list.
RUN_ARGUMENTS = "setpoint.dev/run-arguments"
# On the object of a run: its task, its request, and the reason of a stop.
TASK = "setpoint.dev/task"
RUN_REQUEST, STOPPED_BECAUSE = "setpoint.dev/run-request", "setpoint.dev/stopped-because"
# The label of objects that a controller created: the uid of the owner.
OWNER_LABEL = "setpoint.dev/controller-uid"
# On a replica: its set's name with its number, and a mark if suspended with its set.
DISPLAY_NAME = f"executable-replica-set.{GROUP}/display-name"
SUSPENDED_WITH_SET = "setpoint.dev/suspended-with-set"
