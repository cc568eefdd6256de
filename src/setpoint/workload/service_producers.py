"""Which Services a workload says it serves, by `spec.serves` or by DCP's annotation `service-producer`."""

from typing import NamedTuple

import msgspec

from setpoint.objects.tree import Object
from setpoint.workload.kinds.api_names import SERVICE_PRODUCER

# The reason of a Service that cannot listen where it should: mostly somebody else has the port.
CANNOT_LISTEN = "CannotListen"
_EXAMPLE = '[{"serviceName": "web", "port": 8080}]'


class Producer(NamedTuple):
    """That a workload serves a Service, on which port and address; port 0 is one yet to be chosen."""

    service: str
    port: int = 0
    address: str = ""


def producers(tree: Object) -> list[Producer]:
    """What an Executable, a Container or a template of one says it serves, each Service once.

    `spec.serves` counts before the annotation. Raises ValueError, with the remedy, where the annotation cannot be read.
    """
    found: dict[str, Producer] = {}
    for each in tree.get("spec", {}).get("serves") or ():
        found[each["service"]] = Producer(each["service"], each.get("port", 0), each.get("address", ""))
    for producer in _annotated(tree):
        found.setdefault(producer.service, producer)
    return list(found.values())


def _annotated(tree: Object) -> list[Producer]:
    # A template of an Executable has its annotations beside its spec.
    annotations = tree.get("metadata", tree).get("annotations") or {}
    text = annotations.get(SERVICE_PRODUCER, "")
    if not text.strip():
        return []
    try:
        entries = msgspec.json.decode(text, type=list[_Entry])
    except msgspec.DecodeError as error:
        raise ValueError(f"annotation {SERVICE_PRODUCER} cannot be read: {error}; it looks like {_EXAMPLE}") from None
    for entry in entries:
        if not entry.service_name:
            raise ValueError(
                f"annotation {SERVICE_PRODUCER} has an entry without serviceName; it looks like {_EXAMPLE}"
            )
        if not 0 <= entry.port <= 65535:
            raise ValueError(f"annotation {SERVICE_PRODUCER}: port {entry.port} is none; ports go from 1 to 65535")
    return [Producer(entry.service_name, entry.port, entry.address) for entry in entries]


def template_of(tree: Object) -> Object:
    """What says of an Executable, a Container or a set of replicas what it serves."""
    return tree["spec"]["template"] if tree["kind"] == "ExecutableReplicaSet" else tree


def serves(tree: Object) -> list[str]:
    """The names of the Services that a workload or a set of them serves; none where its annotation cannot be read, of
    which its own condition tells."""
    try:
        return [producer.service for producer in producers(template_of(tree))]
    except ValueError:
        return []


def cannot_listen(service: Object) -> str:
    """Why a Service cannot be reached at its port; empty where it can, or nobody serves it yet."""
    conditions = (service.get("status") or {}).get("conditions") or ()
    return next((str(each.get("message", "")) for each in conditions if each.get("reason") == CANNOT_LISTEN), "")


class _Entry(msgspec.Struct, rename="camel"):
    """An entry of the annotation; Services have no namespaces here, so that what it says of them is not read."""

    service_name: str = ""
    port: int = 0
    address: str = ""
