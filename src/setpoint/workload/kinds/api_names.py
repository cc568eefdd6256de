"""What the workload kinds are called in the API, and what they are asked by annotations: DCP's names for what DCP has.

They stand apart from the classes, so that who reads objects as they are need not wait for these.
"""

GROUP = "usvc-dev.developer.microsoft.com"
OWN_GROUP = "setpoint.dev"
VERSION = "v1"
CATEGORY = "workloads"

# Those that have output, by the names of their resources.
LOGGED = {"executables": "Executable", "containers": "Container", "containerexecs": "ContainerExec"}

# The labels of what an app file renders: the app, its session, and the service or task that an object is of.
APP_LABEL, SESSION_LABEL, PART_LABEL = "setpoint.dev/app", "setpoint.dev/session", "setpoint.dev/part"
# What a Service speaks: the URLs that are shown of it begin with that.
SCHEME = "setpoint.dev/scheme"
SERVICE_PRODUCER = "service-producer"
RESTART_REQUESTED = "setpoint.dev/restart-requested-at"
# Beside a request for a run of a task: further arguments for it, as a list in JSON.
RUN_ARGUMENTS = "setpoint.dev/run-arguments"
# In the object of a run: its task, the request that it is for, and why somebody stopped it.
TASK = "setpoint.dev/task"
RUN_REQUEST, STOPPED_BECAUSE = "setpoint.dev/run-request", "setpoint.dev/stopped-because"
# The label of what a controller made: the uid of the object that it made it for.
OWNER_LABEL = "setpoint.dev/controller-uid"
# In a replica: its number behind the name of its set, and that it is suspended because its set is.
DISPLAY_NAME = f"executable-replica-set.{GROUP}/display-name"
SUSPENDED_WITH_SET = "setpoint.dev/suspended-with-set"
