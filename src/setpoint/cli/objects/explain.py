"""`setpoint explain`: shows the documentation of a kind's fields from the server's OpenAPI document."""

import textwrap
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.output.terminal import Terminal, harmless, terminal
from setpoint.cli.support.completion import kinds_and_names
from setpoint.cli.support.connection import Server, connect, run, server_options
from setpoint.cli.support.errors import NOT_FOUND, Failure

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.client.discovery import APIResource
    from setpoint.objects.tree import Object

_WIDTH = 100


@click.command()
@click.argument("what", metavar="KIND[.FIELD...]", shell_complete=kinds_and_names)
@click.option("--recursive", is_flag=True, help="Show the names of nested fields, too.")
@click.option("--api-version", metavar="GROUP/VERSION", default="", help="API version of the kind, as GROUP/VERSION.")
@server_options
def explain(what: str, recursive: bool, api_version: str, server: Server) -> None:
    """Show documentation of a kind's fields.

    \b
      setpoint explain executable
      setpoint explain executable.spec.healthProbes
      setpoint explain deployment.spec --recursive
    """
    run(_explain(server, what, recursive, api_version))


async def _explain(server: Server, what: str, recursive: bool, api_version: str) -> None:
    from setpoint.cli.support.resource_args import Kinds

    async with connect(server) as client:
        kinds = await Kinds.of(client)
        resource, path = _split(kinds, what, api_version)
        schemas = Schemas(await _components(client, resource))
        schema = schemas.of_kind(resource)
        for field in path:
            properties = schemas.properties(schema)
            if field not in properties:
                raise Failure(_no_field(what, field, list(properties)), NOT_FOUND)
            schema = properties[field]
        _print(resource, path, schema, schemas, recursive)


def _split(kinds: Any, what: str, api_version: str) -> "tuple[APIResource, list[str]]":
    """Splits the argument into the resource and the path of a field. The group between them may contain dots."""
    words = what.split(".")
    version = api_version.rpartition("/")
    for end in range(len(words), 0, -1):
        name = ".".join(words[:end])
        if api_version:
            found = kinds.one(f"{words[0]}.{version[2]}.{version[0]}" if version[0] else f"{words[0]}.{version[2]}")
            end = 1
        else:
            found = kinds.one(name)
        if found is not None:
            return found, words[end:]
    kinds.find(words[0])  # raises Failure with a suggestion
    raise Failure(f"the server has no kind {words[0]} in {api_version}", NOT_FOUND)


def _no_field(what: str, field: str, known: list[str]) -> str:
    from setpoint.cli.output.words import did_you_mean

    hint = did_you_mean(field, known) or f"available fields: {', '.join(known) or 'none'}"
    return f"{what}: field {field!r} does not exist; {hint}"


async def _components(client: "Client", resource: "APIResource") -> "Object":
    """Returns the schemas of the group and version of a resource."""
    from setpoint.client.requests import decode

    gvk = resource.gvk
    place = f"apis/{gvk.group}/{gvk.version}" if gvk.group else f"api/{gvk.version}"
    index = decode((await client.raw("GET", "/openapi/v3")).body)
    found = index["paths"].get(place)
    if found is None:
        raise Failure(f"the server has no OpenAPI document for {gvk.api_version}", NOT_FOUND)
    path, _, query = found["serverRelativeURL"].partition("?")
    pairs = [(name, value) for name, _, value in (each.partition("=") for each in query.split("&") if each)]
    tree = decode((await client.raw("GET", path, query=pairs, headers={"accept": "application/json"})).body)
    schemas: Object = tree.get("components", {}).get("schemas", {})
    return schemas


class Schemas:
    """The schemas of a document, with references resolved."""

    def __init__(self, schemas: "Object") -> None:
        self._schemas = schemas

    def of_kind(self, resource: "APIResource") -> "Object":
        gvk = resource.gvk
        for schema in self._schemas.values():
            for each in schema.get("x-kubernetes-group-version-kind") or ():
                if (each.get("group", ""), each["version"], each["kind"]) == (gvk.group, gvk.version, gvk.kind):
                    return dict(schema)
        raise Failure(f"the server does not document {gvk.kind}", NOT_FOUND)

    def resolved(self, schema: "Object") -> "Object":
        """Returns the schema with its reference resolved. Own fields of the schema take precedence."""
        inner = schema.get("$ref") or next((each["$ref"] for each in schema.get("allOf") or () if "$ref" in each), None)
        if inner is None:
            return schema
        return {**self._schemas.get(inner.rpartition("/")[2], {}), "title": inner.rpartition(".")[2]} | {
            name: value for name, value in schema.items() if name not in ("$ref", "allOf")
        }

    def properties(self, schema: "Object") -> "Object":
        """Returns the fields of a schema; for a list or map, those of its items."""
        schema = self.resolved(schema)
        inner = schema.get("items") or schema.get("additionalProperties")
        if isinstance(inner, dict) and not schema.get("properties"):
            return self.properties(inner)
        properties: Object = schema.get("properties") or {}
        return properties

    def type_of(self, schema: "Object") -> str:
        schema = self.resolved(schema)
        inner = schema.get("items")
        if isinstance(inner, dict):
            return f"[]{self.type_of(inner)}"
        inner = schema.get("additionalProperties")
        if isinstance(inner, dict):
            return f"map[string]{self.type_of(inner)}"
        if schema.get("x-kubernetes-int-or-string"):
            return "integer or string"
        return str(schema.get("title") or schema.get("type") or "Object").replace("object", "Object")


def _print(resource: "APIResource", path: list[str], schema: "Object", schemas: Schemas, recursive: bool) -> None:
    place = terminal()
    gvk = resource.gvk
    head = [("KIND", gvk.kind), ("VERSION", gvk.api_version)]
    if path:
        head.append(("FIELD", f"{'.'.join(path)} <{schemas.type_of(schema)}>"))
    for name, value in head:
        place.echo(f"{place.paint(f'{name}:', 'heading'):<{10 + (8 if place.colours else 0)}} {value}")
    found = schemas.resolved(schema)
    place.echo(f"\n{place.paint('DESCRIPTION:', 'heading')}")
    place.echo(_wrapped(_text(found) or "<empty>", 4, place))
    properties = schemas.properties(schema)
    if properties:
        place.echo(f"\n{place.paint('FIELDS:', 'heading')}")
        _print_fields(schema, schemas, place, recursive, 2, ())


def _text(schema: "Object") -> str:
    enum = schema.get("enum")
    choices = f"\nOne of: {', '.join(map(str, enum))}." if enum else ""
    default = f"\nDefault: {schema['default']}" if schema.get("default") not in (None, "", {}, []) else ""
    return harmless(str(schema.get("description") or "") + choices + default).strip()


def _print_fields(
    schema: "Object", schemas: Schemas, place: Terminal, recursive: bool, indent: int, above: tuple[int, ...]
) -> None:
    inner = schemas.resolved(schema)
    required = set(inner.get("required") or (inner.get("items") or {}).get("required") or ())
    for name, field in sorted(schemas.properties(schema).items()):
        needed = place.paint(" -required-", "pending") if name in required else ""
        place.echo(f"{' ' * indent}{place.paint(name, 'heading')} <{schemas.type_of(field)}>{needed}")
        if not recursive:
            place.echo(_wrapped(_text(schemas.resolved(field)) or "<no description>", indent + 2, place) + "\n")
            continue
        below = schemas.properties(field)
        # Stops at recursive schemas.
        if below and id(below) not in above:
            _print_fields(field, schemas, place, recursive, indent + 2, (*above, id(below)))


def _wrapped(text: str, indent: int, place: Terminal) -> str:
    width = min(place.width or _WIDTH, _WIDTH)
    return "\n".join(
        textwrap.fill(line, width, initial_indent=" " * indent, subsequent_indent=" " * indent)
        for line in text.splitlines()
    )
