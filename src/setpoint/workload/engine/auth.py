"""The credentials for a registry, from the configuration of Docker or Podman and the credential helpers named there.

Without an entry for the registry, requests are anonymous, which is enough for public images. A failed helper counts as
no entry.
"""

import asyncio
import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from setpoint.workload.engine.reference import DOCKER_HUB, parse

# The key of Docker Hub in Docker's configuration.
_DOCKER_HUB_KEY = "https://index.docker.io/v1/"
_HELPER_SECONDS = 30.0


def config_directory(environ: Mapping[str, str]) -> Path:
    """Returns the directory of the Docker client's configuration."""
    if chosen := environ.get("DOCKER_CONFIG"):
        return Path(chosen)
    return Path(environ.get("HOME") or "/") / ".docker"


def read_json(path: Path) -> dict[str, Any]:
    """Returns the contents of a configuration file; empty if the file is missing or invalid."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


async def registry_auth(image: str, environ: Mapping[str, str]) -> str:
    """Returns the header X-Registry-Auth for an image; empty for anonymous access."""
    registry = parse(image).registry
    for path in _files(environ):
        entry = await _entry(read_json(path), registry, environ)
        if entry is not None:
            return _header(entry)
    return ""


async def every_registry(environ: Mapping[str, str]) -> str:
    """Returns the header X-Registry-Config for builds, with all configured registries; empty if there are none."""
    found: dict[str, Any] = {}
    for path in reversed(_files(environ)):
        config = read_json(path)
        for name in {**_map(config, "auths"), **_map(config, "credHelpers")}:
            entry = await _entry(config, _host(name), environ)
            if entry is not None:
                found[name] = entry
    return _header(found) if found else ""


def _files(environ: Mapping[str, str]) -> list[Path]:
    places = [config_directory(environ) / "config.json"]
    if chosen := environ.get("REGISTRY_AUTH_FILE"):
        places.insert(0, Path(chosen))
    if runtime := environ.get("XDG_RUNTIME_DIR"):
        places.append(Path(runtime) / "containers" / "auth.json")
    return places


async def _entry(config: Mapping[str, Any], registry: str, environ: Mapping[str, str]) -> dict[str, str] | None:
    helpers = _map(config, "credHelpers")
    for key in _keys(registry):
        if isinstance(helpers.get(key), str):
            return await _run_helper(helpers[key], key, environ)
    stored = next((each for name, each in _map(config, "auths").items() if _host(name) == registry), None)
    if isinstance(stored, dict) and (entry := _decoded(stored)):
        return {**entry, "serveraddress": _keys(registry)[0]}
    if isinstance(config.get("credsStore"), str):
        for key in _keys(registry):
            if (found := await _run_helper(config["credsStore"], key, environ)) is not None:
                return found
    return None


def _keys(registry: str) -> list[str]:
    return [_DOCKER_HUB_KEY, DOCKER_HUB] if registry == DOCKER_HUB else [registry, f"https://{registry}"]


def _host(key: str) -> str:
    host = key.partition("://")[2] or key
    host = host.partition("/")[0]
    return DOCKER_HUB if host in ("index.docker.io", DOCKER_HUB, "registry-1.docker.io") else host


def _decoded(stored: Mapping[str, Any]) -> dict[str, str]:
    if stored.get("identitytoken"):
        return {"identitytoken": str(stored["identitytoken"])}
    if stored.get("registrytoken"):
        return {"registrytoken": str(stored["registrytoken"])}
    try:
        user, colon, password = base64.b64decode(str(stored.get("auth") or "")).decode().rstrip("\0").partition(":")
    except ValueError:
        return {}
    if colon:
        return {"username": user, "password": password}
    if stored.get("username"):
        return {"username": str(stored["username"]), "password": str(stored.get("password") or "")}
    return {}


async def _run_helper(helper: str, server: str, environ: Mapping[str, str]) -> dict[str, str] | None:
    """Returns the credentials that `docker-credential-HELPER get` prints for a server, or None."""
    try:
        process = await asyncio.create_subprocess_exec(
            f"docker-credential-{helper}",
            "get",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=dict(environ),
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(_HELPER_SECONDS):
            output, _ = await process.communicate(server.encode())
    except TimeoutError:
        process.kill()
        await process.wait()
        return None
    try:
        found = json.loads(output) if process.returncode == 0 else None
    except ValueError:
        return None
    if not isinstance(found, dict) or not found.get("Secret"):
        return None
    # Helpers use this name if the secret is a token.
    if found.get("Username") == "<token>":
        return {"identitytoken": str(found["Secret"]), "serveraddress": server}
    return {"username": str(found.get("Username") or ""), "password": str(found["Secret"]), "serveraddress": server}


def _header(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


def _map(config: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = config.get(name)
    return found if isinstance(found, dict) else {}
