"""The Services that a workload serves, by `spec.serves` or by DCP's annotation `service-producer`."""

from typing import NamedTuple

import msgspec

from setpoint.objects.tree import Object
from setpoint.workload.kinds.api_names import SERVICE_PRODUCER

# The reason of a Service that cannot listen: usually another process uses the port.
CANNOT_LISTEN = "CannotListen"
_EXAMPLE = '[{"serviceName": "web", "port": 8080}]'


class Producer(NamedTuple):
    """A Service that a workload serves, with its port and address; port 0 is assigned later."""

    service: str
    port: int = 0
    address: str = ""


def producers(tree: Object) -> list[Producer]:
    """Returns the Services that an Executable, a Container or a template of one serves, without duplicates.

    `spec.serves` takes precedence over the annotation. Raises ValueError, with the remedy, if the annotation is
    invalid.
    """
    found: dict[str, Producer] = {}
    for each in tree.get("spec", {}).get("serves") or ():
        found[each["service"]] = Producer(each["service"], each.get("port", 0), each.get("address", ""))
    for producer in _annotated(tree):
        found.setdefault(producer.service, producer)
    return list(found.values())


def _annotated(tree: Object) -> list[Producer]:
    # The annotations of a template are next to its spec.
    annotations = tree.get("metadata", tree).get("annotations") or {}
    text = annotations.get(SERVICE_PRODUCER, "")
    if not text.strip():
        return []
    try:
        entries = msgspec.json.decode(text, type=list[_ProducerEntry])
    except msgspec.DecodeError as error:
        raise ValueError(f"annotation {SERVICE_PRODUCER} is invalid: {error}; expected e.g. {_EXAMPLE}") from None
    for entry in entries:
        if not entry.service_name:
            raise ValueError(
                f"annotation {SERVICE_PRODUCER} has an entry without serviceName; expected e.g. {_EXAMPLE}"
            )
        if not 0 <= (entry.port or 0) <= 65535:
            raise ValueError(f"annotation {SERVICE_PRODUCER}: invalid port {entry.port}; expected 1 to 65535")
    return [Producer(entry.service_name, entry.port or 0, entry.address or "") for entry in entries]


def template_of(tree: Object) -> Object:
    """Returns the object or template with the served Services of a workload or replica set."""
    return tree["spec"]["template"] if tree["kind"] == "ExecutableReplicaSet" else tree


def serves(tree: Object) -> list[str]:
    """Returns the names of the Services that a workload or replica set serves; none if its annotation is invalid, which
    its condition reports."""
    try:
        return [producer.service for producer in producers(template_of(tree))]
    except ValueError:
        return []


def listen_error(service: Object) -> str:
    """Returns the reason why a Service cannot listen on its port; empty if there is none."""
    conditions = (service.get("status") or {}).get("conditions") or ()
    return next((str(each.get("message", "")) for each in conditions if each.get("reason") == CANNOT_LISTEN), "")


class _ProducerEntry(msgspec.Struct, rename="camel"):
    """An entry of the annotation; namespaces are ignored, because Services have none. As in DCP, null means absent."""

    service_name: str = ""
    port: int | None = 0
    address: str | None = ""
