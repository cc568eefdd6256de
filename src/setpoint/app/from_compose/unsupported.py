"""The settings of Compose without an effect, with the reason and the remedy."""

_SWARM = "a setting of Docker Swarm, which Docker Compose ignores, too"

DEPLOY = {
    "endpoint_mode": _SWARM,
    "labels": f"{_SWARM}; write labels of containers under labels",
    "placement": _SWARM,
    "rollback_config": _SWARM,
    "update_config": _SWARM,
}
RESERVATIONS = {"cpus": _SWARM, "generic_resources": _SWARM, "pids": _SWARM}
SERVICE = {
    "attach": "the output of all services is shown; `setpoint up --no-logs` shows none",
    "cpu_count": "a setting of Windows containers; use cpus",
    "cpu_percent": "a setting of Windows containers; use cpus",
    "credential_spec": "a setting of Windows containers; remove this setting",
    "external_links": "links to containers of other projects are not supported; join their network under networks",
    "models": "AI models are run by Docker Desktop only; run a model server as a service",
    "post_start": "hooks are not supported; run the command in the entrypoint, or as a service with depends_on",
    "pre_stop": "hooks are not supported; handle the stop signal in the program",
    "pre_start": "hooks are not supported; write a service, and depends_on with service_completed_successfully",
    "provider": "programs of providers are not supported, and the service was left out; start the program yourself",
    "use_api_socket": "the socket of the engine is not mounted automatically; mount it under volumes",
    "volume_driver": "write the driver under the top-level volumes",
}
TOP_LEVEL = {
    "models": SERVICE["models"],
    "jobs": "jobs are not supported; write a service with a profile",
}
