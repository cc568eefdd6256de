"""The configuration files in which assistants look for servers of the protocol."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from setpoint.cli.support.errors import CONFLICT, Failure

NAME = "setpoint"


class ClientFile(NamedTuple):
    """The file of a client in the directory of a project, and the field with the servers."""

    path: str
    field: str
    # True if an entry names the kind of its transport.
    names_transport: bool = False


CLIENTS = {
    "claude": ClientFile(".mcp.json", "mcpServers"),
    "cursor": ClientFile(".cursor/mcp.json", "mcpServers"),
    "vscode": ClientFile(".vscode/mcp.json", "servers", names_transport=True),
}


def entry(client: ClientFile, arguments: list[str]) -> dict[str, Any]:
    """Returns the entry of a client that starts this program."""
    transport = {"type": "stdio"} if client.names_transport else {}
    return {**transport, "command": "setpoint", "args": ["mcp", *arguments]}


def add(client: ClientFile, directory: Path, arguments: list[str], *, replaces: bool) -> Path:
    """Adds the entry to the file of a client, and returns the file. Other entries stay. Raises Failure if the file is
    not a JSON object, or has another entry of that name and `replaces` is False."""
    path, wanted = directory / client.path, entry(client, arguments)
    content = _read(path, client, wanted)
    servers = content.setdefault(client.field, {})
    if not isinstance(servers, dict):
        raise Failure(f"{path}: {client.field} is not an object; correct the file")
    if servers.get(NAME) not in (None, wanted) and not replaces:
        raise Failure(f"{path} has another entry {NAME!r}: remove that, or use --force", CONFLICT)
    servers[NAME] = wanted
    _write(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    return path


def _read(path: Path, client: ClientFile, wanted: dict[str, Any]) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"cannot read {path}: {error}") from None
    except json.JSONDecodeError as error:
        content = error
    if not isinstance(content, dict):
        addition = json.dumps({client.field: {NAME: wanted}})
        raise Failure(f"{path} is not a JSON object (comments are not supported); add by hand: {addition}")
    return content


def _write(path: Path, text: str) -> None:
    """Replaces a file at once, so that no client reads half of the file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=".mcp-", suffix=".json", delete=False
        ) as file:
            file.write(text)
        try:
            os.chmod(file.name, path.stat().st_mode & 0o777 if path.exists() else 0o644)
            os.replace(file.name, path)
        except OSError:
            os.unlink(file.name)
            raise
    except OSError as error:
        raise Failure(f"cannot write {path}: {error}") from None
