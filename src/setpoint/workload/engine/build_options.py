"""Converts the `build` field of a Container to build options of an engine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from setpoint.workload.engine.body import engine_ulimits
from setpoint.workload.engine.build_context import ContextError
from setpoint.workload.engine.images import BuildOptions


def build_options(build: Mapping[str, Any], tag: str, environ: Mapping[str, str]) -> BuildOptions:
    """Returns the build options; `tag` is the name of the image, in addition to the tags of `build`. Reads the secrets
    from files and the environment. Raises ContextError."""
    return BuildOptions(
        tags=list(dict.fromkeys([tag, *(build.get("tags") or ())])),
        args={each["name"]: each.get("value") or "" for each in build.get("args") or ()},
        labels={each["key"]: each.get("value") or "" for each in build.get("labels") or ()},
        stage=build.get("stage") or "",
        platform=build.get("platform") or "",
        secrets={
            secret["id"]: _secret(secret, f"build.secrets[{index}]", environ)
            for index, secret in enumerate(build.get("secrets") or ())
        },
        pull=bool(build.get("pull")),
        no_cache=bool(build.get("noCache")),
        cache_from=build.get("cacheFrom") or (),
        extra_hosts=build.get("extraHosts") or (),
        network=build.get("network") or "",
        shm_bytes=build.get("shmSize") or 0,
        ulimits=tuple(engine_ulimits(build.get("ulimits") or ())),
    )


def _secret(secret: Mapping[str, Any], where: str, environ: Mapping[str, str]) -> bytes:
    if secret.get("type") == "env":
        if secret.get("value"):
            return str(secret["value"]).encode()
        name = secret.get("source") or secret["id"]
        if name not in environ:
            raise ContextError(f"{where}.source: environment variable {name} is not set")
        return environ[name].encode()
    source = str(secret.get("source") or "")
    try:
        return Path(source).read_bytes()
    except OSError as error:
        raise ContextError(f"{where}.source: {source!r} cannot be read: {error.strerror}") from None
