"""The rights to the endpoints of `setpoint.dev` below objects that show no more than the object or its history.

`GET /apis/setpoint.dev/v1/namespaces/shop/pods/web/summary` requires the right to get the pod `web`, and none of its
own: a summary follows from the object. An endpoint that shows the past requires the right to the history of the object.
"""

from setpoint.objects.gvk import GroupResource
from setpoint.server.access.past_access import SUBRESOURCE
from setpoint.server.request.context import Context
from setpoint.server.request.extension import ObjectEndpoint
from setpoint.server.requestinfo import RequestInfo

# The collection of the summaries of all objects of a resource, which the parameter `resource` names.
SUMMARIES = "summaries"


def right_of_endpoint(context: Context) -> RequestInfo:
    """Returns the attributes to authorize a request by."""
    info = context.info
    if info.resource == SUMMARIES and not info.name:
        plural = context.parameter("resource")
        found = GroupResource.parse(plural)
        return info._replace(group=found.group, resource=found.resource) if plural else info
    for each in context.registry.endpoints:
        if isinstance(each, ObjectEndpoint) and each.name == info.subresource and info.name and not info.subpath:
            if each.right == "history":
                return info._replace(subresource=SUBRESOURCE)
            if each.right == "object":
                found = GroupResource.parse(info.resource)
                return info._replace(group=found.group, resource=found.resource, subresource="")
    return info
