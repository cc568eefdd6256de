"""The storage of simulated nodes: their class, and the volumes that the simulated provisioner creates. No data is
stored."""

from setpoint.client.client import Client
from setpoint.client.transport import TransportError
from setpoint.objects.errors import AlreadyExists
from setpoint.objects.tree import Object
from setpoint.system.persistentvolume.storage_state import (
    CLASS,
    PROVISIONED_BY,
    WAIT_FOR_CONSUMER,
    claim_reference,
)

# The provisioner of the class, and the driver of its volumes: the name of a driver has no slash.
SIMULATED = "setpoint.dev/simulated"
DRIVER = "simulated.setpoint.dev"
DEFAULT_CLASS = "standard"
# The attempts to create the class, if answers of the server are lost.
_ATTEMPTS = 5


def simulated_class(name: str = DEFAULT_CLASS) -> Object:
    """Returns the default class of simulated nodes."""
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "annotations": annotations},
        "provisioner": SIMULATED,
        "volumeBindingMode": WAIT_FOR_CONSUMER,
        "reclaimPolicy": "Delete",
        "allowVolumeExpansion": True,
    }


async def create_class(client: Client) -> None:
    """Creates the default class if there are no classes: a class of the user may be the default one."""
    for attempt in range(_ATTEMPTS):
        try:
            if not (await client.list(CLASS, limit=1)).items:
                await client.create(simulated_class())
        except AlreadyExists:
            return
        except TransportError:
            if attempt + 1 == _ATTEMPTS:
                raise
        else:
            return


def volume_name(claim: Object) -> str:
    """Returns the name of the volume of a claim."""
    return f"pvc-{claim['metadata']['uid']}"


def provisioned_volume(claim: Object, storage_class: Object, node: Object | None) -> Object:
    """Returns the volume for a claim. Every node reaches the volume, unless the class restricts the topology: then the
    nodes with the same topology as the selected node."""
    spec, uid = claim["spec"], claim["metadata"]["uid"]
    requests = (spec.get("resources") or {}).get("requests") or {}
    found: Object = {
        "capacity": {"storage": requests.get("storage", "0")},
        "accessModes": list(spec.get("accessModes") or ()),
        "volumeMode": spec.get("volumeMode") or "Filesystem",
        "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy") or "Delete",
        "storageClassName": storage_class["metadata"]["name"],
        "claimRef": claim_reference(claim),
        "csi": {"driver": DRIVER, "volumeHandle": uid},
    }
    if options := storage_class.get("mountOptions"):
        found["mountOptions"] = list(options)
    if terms := _topology(storage_class, node):
        found["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    metadata = {"name": volume_name(claim), "annotations": {PROVISIONED_BY: SIMULATED}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": found}


def _topology(storage_class: Object, node: Object | None) -> list[Object]:
    """Returns the terms of the node affinity of a volume: the values of the selected node for the topology keys of the
    class, or without a node all values of the class."""
    labels = {} if node is None else node["metadata"].get("labels") or {}
    terms = []
    for term in storage_class.get("allowedTopologies") or ():
        expressions = term.get("matchLabelExpressions") or ()
        if node is not None and not all(labels.get(each["key"]) in each["values"] for each in expressions):
            continue
        terms.append(
            {
                "matchExpressions": [
                    {
                        "key": each["key"],
                        "operator": "In",
                        "values": list(each["values"]) if node is None else [labels[each["key"]]],
                    }
                    for each in expressions
                ]
            }
        )
    return terms if node is None else terms[:1]
