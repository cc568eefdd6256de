"""The records of handlers that are called once for each generation of an object, in the status of the object.

    status: {handlers: {charge: 3, notify: 2}}

A record is the generation that a handler has last succeeded for. Each is written right after the call, so a process
that ends in between repeats at most that call.
"""

from typing import Any

from setpoint.client.kinds import KindRef, tree_of
from setpoint.controller.context import Context
from setpoint.controller.remedies import has_status
from setpoint.controller.request import TerminalError
from setpoint.flow.chain.order import RegistrationError
from setpoint.objects.tree import Object
from setpoint.schema.types.shape import fields_of

# The field of the status with the records, unless a chain names another.
FIELD = "handlers"


def check_records(kind: KindRef, field: str, handler: str) -> None:
    """Raises RegistrationError if the status of a class has no field for the records."""
    if kind.cls is None:
        return
    status = fields_of(kind.cls).by_wire.get("status")
    model = status.shape.model if status is not None and status.shape is not None else None
    if has_status(kind) and model is not None and field in fields_of(model).by_wire:
        return
    name = f"{kind.gvk.kind}Status" if model is None else model.__name__
    remedy = f"add `{field}: dict[str, int] = msgspec.field(default_factory=dict)` to {name}, or remove once=True"
    raise RegistrationError(f"{handler} has once=True, and the status of {kind} has no field {field!r}: {remedy}")


def recorded_generation(obj: Any, field: str, handler: str) -> int:
    """Returns the generation that a handler has last succeeded for; 0 if there is none."""
    found = ((tree_of(obj).get("status") or {}).get(field) or {}).get(handler)
    return found if isinstance(found, int) else 0


def generation_of(obj: Any, handler: str) -> int:
    """Returns the generation of an object. Raises TerminalError for an object without one."""
    generation = tree_of(obj).get("metadata", {}).get("generation") or 0
    if not generation:
        raise TerminalError(f"{handler} has once=True, and objects of this kind have no generation: remove once=True")
    return int(generation)


async def put_record(ctx: Context, field: str, handler: str, generation: int) -> None:
    """Adds a record to the collected status."""
    status = await ctx.load_status()
    records: Object = {**(status.get(field) or {}), handler: generation}
    status[field] = records


async def check_written(ctx: Context, field: str, handler: str, generation: int) -> None:
    """Loads the written status. Raises TerminalError if the server has dropped the record."""
    status = await ctx.load_status()
    if ((status.get(field) or {}).get(handler) or 0) < generation:
        raise TerminalError(
            f"{handler} has once=True, and the server has dropped status.{field}: add an object `{field}` with "
            "`additionalProperties: {type: integer}` to the schema of the status"
        )
