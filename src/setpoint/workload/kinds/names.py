"""What the workload kinds are called in the API, and what they are asked by annotations: DCP's names for what DCP has.

They stand apart from the classes, so that who reads objects as they are need not wait for these.
"""

GROUP = "usvc-dev.developer.microsoft.com"
OWN_GROUP = "setpoint.dev"
VERSION = "v1"
CATEGORY = "workloads"

SERVICE_PRODUCER = "service-producer"
RESTART_REQUESTED = "setpoint.dev/restart-requested-at"
# Beside a request for a run of a task: further arguments for it, as a list in JSON.
RUN_ARGUMENTS = "setpoint.dev/run-arguments"
