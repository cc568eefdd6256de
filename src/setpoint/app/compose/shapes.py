"""The attributes of Compose and the conversions of their values: the form of `docker compose config --format json`."""

from typing import Any

from setpoint.app.compose import values as v
from setpoint.app.compose.values import Convert

_LABELS = v.mapping

_FILE_MOUNT = v.struct({**dict.fromkeys(["source", "target", "uid", "gid"], v.text), "mode": v.file_mode})
_DEVICE_REQUEST = v.struct(
    {"capabilities": v.texts, "driver": v.text, "count": v.count, "device_ids": v.texts, "options": v.mapping}
)
_HOOK = v.with_defaults(
    v.struct(
        {
            "command": v.command,
            "user": v.text,
            "privileged": v.enabled,
            "working_dir": v.text,
            "environment": v.variables,
        }
    ),
    lambda: {"command": None},
)
_BUILD = v.struct(
    {
        **dict.fromkeys(["context", "dockerfile", "dockerfile_inline", "provenance", "sbom", "isolation"], v.text),
        **dict.fromkeys(["network", "target"], v.text),
        "entitlements": v.texts,
        "args": v.variables,
        "ssh": v.ssh_keys,
        "labels": _LABELS,
        **dict.fromkeys(["cache_from", "cache_to", "no_cache_filter", "tags", "platforms"], v.one_or_many),
        **dict.fromkeys(["no_cache", "pull", "privileged"], v.enabled),
        "additional_contexts": v.mapping,
        "extra_hosts": v.hosts,
        "secrets": v.many(_FILE_MOUNT),
        "shm_size": v.size,
        "ulimits": v.named(v.ulimit),
    }
)


def _weight(value: Any) -> Any:
    """Converts the weight of a device; Compose prints these names with capitals."""
    return {"Path": str(value.get("path", "")), "Weight": v.whole(value.get("weight", 0))}


def _rate(value: Any) -> Any:
    """Converts the rate of a device; Compose prints these names with capitals."""
    return {"Path": str(value.get("path", "")), "Rate": v.size(value.get("rate", 0)) or "0"}


_BLKIO = v.struct(
    {
        "weight": v.number,
        "weight_device": v.many(_weight),
        **dict.fromkeys(["device_read_bps", "device_read_iops"], v.many(_rate)),
        **dict.fromkeys(["device_write_bps", "device_write_iops"], v.many(_rate)),
    }
)
_MOUNT = v.struct(
    {
        **dict.fromkeys(["type", "source", "target", "consistency"], v.text),
        "read_only": v.enabled,
        "bind": v.struct(
            {"selinux": v.text, "propagation": v.text, "create_host_path": v.disabled, "recursive": v.text}
        ),
        "volume": v.struct({"labels": _LABELS, "nocopy": v.enabled, "subpath": v.text}),
        "tmpfs": v.struct({"size": v.size, "mode": v.number}),
        "image": v.struct({"subpath": v.text}),
    }
)
_NETWORK_OF_SERVICE = v.struct(
    {
        **dict.fromkeys(["aliases", "link_local_ips"], v.texts),
        "driver_opts": v.mapping,
        **dict.fromkeys(["gw_priority", "priority"], v.number),
        **dict.fromkeys(["interface_name", "ipv4_address", "ipv6_address", "mac_address"], v.text),
        "use_service_name_alias": v.flag,
    }
)
_TEXTS_OF_CONTAINER = (
    *("cgroup_parent", "cgroup", "cpuset", "domainname", "hostname", "image", "ipc", "isolation", "log_driver"),
    *("mac_address", "network_mode", "pid", "platform", "pull_policy", "pull_refresh_after", "runtime", "stop_signal"),
    *("user", "userns_mode", "uts", "volume_driver", "working_dir"),
)
_CONTAINER: dict[str, Convert] = {
    **dict.fromkeys(_TEXTS_OF_CONTAINER, v.text),
    **dict.fromkeys(["annotations", "labels", "sysctls"], v.mapping),
    **dict.fromkeys(["log_opt", "storage_opt"], v.plain_mapping),
    **dict.fromkeys(["cap_add", "cap_drop", "device_cgroup_rules", "dns_opt", "group_add", "security_opt"], v.texts),
    **dict.fromkeys(["volumes_from", "label_file"], v.texts),
    **dict.fromkeys(["dns", "dns_search", "tmpfs"], v.one_or_many),
    **dict.fromkeys(
        ["cpu_count", "cpu_period", "cpu_quota", "cpu_rt_period", "cpu_rt_runtime", "cpu_shares"], v.number
    ),
    **dict.fromkeys(["oom_score_adj", "pids_limit"], v.number),
    **dict.fromkeys(["cpu_percent", "cpus"], v.fraction),
    **dict.fromkeys(["oom_kill_disable", "privileged", "read_only", "use_api_socket"], v.enabled),
    **dict.fromkeys(["mem_limit", "mem_reservation", "memswap_limit", "mem_swappiness", "shm_size"], v.size),
    **dict.fromkeys(["command", "entrypoint"], v.command),
    **dict.fromkeys(["configs", "secrets"], v.many(_FILE_MOUNT)),
    "blkio_config": _BLKIO,
    "credential_spec": v.struct({"config": v.text, "file": v.text, "registry": v.text}),
    "devices": v.many(v.struct(dict.fromkeys(["source", "target", "permissions"], v.text))),
    "environment": v.variables,
    "env_file": v.many(v.struct({"path": v.text, "required": v.disabled, "format": v.text})),
    "extra_hosts": v.hosts,
    "gpus": v.many(_DEVICE_REQUEST),
    "init": v.flag,
    "logging": v.struct({"driver": v.text, "options": v.mapping}),
    "models": v.named(v.struct({"endpoint_var": v.text, "model_var": v.text})),
    "networks": v.named(_NETWORK_OF_SERVICE),
    "stop_grace_period": v.duration,
    "ulimits": v.named(v.ulimit),
    "umask": v.whole,
    "volumes": v.many(_MOUNT),
}
_HEALTHCHECK = v.struct(
    {
        "test": v.health_test,
        **dict.fromkeys(["timeout", "interval", "start_period", "start_interval"], v.duration),
        "retries": v.unsigned,
        "disable": v.enabled,
    }
)
_PORT = v.struct(
    {
        **dict.fromkeys(["name", "mode", "host_ip", "published", "protocol", "app_protocol"], v.text),
        "target": v.number,
    }
)
_DEPENDENCY = v.with_defaults(
    v.struct({"condition": v.text, "restart": v.enabled, "required": v.flag}), lambda: {"required": False}
)
_WORKLOAD: dict[str, Convert] = {
    "build": _BUILD,
    "depends_on": v.named(_DEPENDENCY),
    "expose": v.printed,
    "healthcheck": _HEALTHCHECK,
    "ports": v.many(_PORT),
    "stdin_open": v.enabled,
    "tty": v.enabled,
}
_UPDATE = v.struct(
    {
        "parallelism": v.unsigned,
        "delay": v.positive_duration,
        "failure_action": v.text,
        "monitor": v.positive_duration,
        "max_failure_ratio": v.fraction,
        "order": v.text,
    }
)


def _generic_resource(value: Any) -> Any:
    spec = value.get("discrete_resource_spec")
    if spec is None:
        return {}
    return {"discrete_resource_spec": {"kind": spec.get("kind", ""), "value": v.whole(spec.get("value", 0))}}


_RESOURCE = v.struct(
    {
        "cpus": v.fraction,
        "memory": v.size,
        "pids": v.number,
        "devices": v.many(_DEVICE_REQUEST),
        "generic_resources": v.many(_generic_resource),
    }
)
_DEPLOY = v.with_defaults(
    v.struct(
        {
            "mode": v.text,
            "replicas": v.whole,
            "labels": _LABELS,
            "update_config": _UPDATE,
            "rollback_config": _UPDATE,
            "resources": v.struct({"limits": _RESOURCE, "reservations": _RESOURCE}),
            "restart_policy": v.struct(
                {"condition": v.text, "delay": v.duration, "max_attempts": v.unsigned, "window": v.duration}
            ),
            "placement": v.struct(
                {
                    "constraints": v.texts,
                    "preferences": v.many(v.struct({"spread": v.text})),
                    "max_replicas_per_node": v.number,
                }
            ),
            "endpoint_mode": v.text,
        }
    ),
    lambda: {"resources": {}, "placement": {}},
)
_WATCH = v.with_defaults(
    v.struct(
        {
            **dict.fromkeys(["path", "action", "target"], v.text),
            "exec": _HOOK,
            **dict.fromkeys(["include", "ignore"], v.one_or_many),
            "initial_sync": v.enabled,
        }
    ),
    lambda: {"path": "", "action": "", "exec": {"command": None}},
)


def _commands() -> dict[str, Any]:
    return {"command": None, "entrypoint": None}


SERVICE = v.with_defaults(
    v.struct(
        {
            **_CONTAINER,
            **_WORKLOAD,
            **dict.fromkeys(["profiles", "external_links", "links"], v.texts),
            "deploy": _DEPLOY,
            "develop": v.struct({"watch": v.many(_WATCH)}),
            **dict.fromkeys(["restart", "container_name"], v.text),
            "scale": v.whole,
            "attach": v.flag,
            "provider": v.struct({"type": v.text, "options": v.repeated_options}),
            "extends": v.struct({"file": v.text, "service": v.text}),
            "pre_start": v.many(v.with_defaults(v.struct({**_CONTAINER, "per_replica": v.enabled}), _commands)),
            **dict.fromkeys(["post_start", "pre_stop"], v.many(_HOOK)),
        }
    ),
    _commands,
)
JOB = v.with_defaults(
    v.struct(
        {
            **_CONTAINER,
            **_WORKLOAD,
            "profiles": v.texts,
            "triggers": v.struct(
                {
                    "manual": v.flag,
                    "schedule": v.many(
                        v.struct(dict.fromkeys(["cron", "timezone", "concurrency", "missed_fires"], v.text))
                    ),
                }
            ),
        }
    ),
    _commands,
)
NETWORK = v.with_defaults(
    v.struct(
        {
            "name": v.text,
            "driver": v.text,
            "driver_opts": v.mapping,
            "ipam": v.struct(
                {
                    "driver": v.text,
                    "config": v.many(
                        v.struct(
                            {**dict.fromkeys(["subnet", "gateway", "ip_range"], v.text), "aux_addresses": v.mapping}
                        )
                    ),
                    "options": v.mapping,
                }
            ),
            **dict.fromkeys(["external", "internal", "attachable"], v.enabled),
            "labels": _LABELS,
            **dict.fromkeys(["enable_ipv4", "enable_ipv6"], v.flag),
        }
    ),
    lambda: {"ipam": {}},
)
VOLUME = v.struct(
    {"name": v.text, "driver": v.text, "driver_opts": v.mapping, "external": v.enabled, "labels": _LABELS}
)
_FILE: dict[str, Convert] = {
    **dict.fromkeys(["name", "file", "environment", "driver", "template_driver"], v.text),
    "external": v.enabled,
    "labels": _LABELS,
    "driver_opts": v.plain_mapping,
}
SECRET = v.struct(_FILE)
_CONFIG = v.struct({**_FILE, "content": v.text})


def CONFIG(value: Any) -> Any:  # noqa: N802 - one of the shapes of this module
    """Converts a config; the content is omitted if a variable has the content."""
    made = _CONFIG(value)
    if made is not None and "environment" in made:
        made.pop("content", None)
    return made


MODEL = v.struct({"name": v.text, "model": v.text, "context_size": v.number, "runtime_flags": v.texts})
