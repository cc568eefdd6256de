"""The managedFields of objects that the server writes itself, stated instead of computed: a server starts sooner."""

from datetime import datetime

from setpoint.objects.times import format_time
from setpoint.objects.tree import Object

MANAGER = "kube-apiserver"


def managed(
    api_version: str,
    fields: Object,
    now: datetime,
    manager: str = MANAGER,
    operation: str = "Update",
    subresource: str = "",
) -> Object:
    """Returns an entry of managedFields."""
    entry: Object = {
        "manager": manager,
        "operation": operation,
        "apiVersion": api_version,
        "time": format_time(now),
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    return entry | {"subresource": subresource} if subresource else entry


def map_fields(*keys: str) -> Object:
    """Returns the field set of a map with these keys."""
    return {".": {}, **{f"f:{key}": {} for key in keys}}
