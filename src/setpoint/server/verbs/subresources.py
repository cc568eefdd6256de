"""The handlers of subresources that have a form of their own, by verb.

All others (status, finalize, approval, ephemeralcontainers, resize) are written like the object itself; the strategy of
the kind decides on the fields that each of them may change.
"""

from collections.abc import Mapping

from setpoint.server.request.extension import Verb
from setpoint.server.verbs.connect import connect
from setpoint.server.verbs.pod_log import pod_log
from setpoint.server.verbs.pods import bind, evict
from setpoint.server.verbs.scale import get_scale, patch_scale, update_scale
from setpoint.server.verbs.token_request import issue_token

_CONNECT: Mapping[str, Verb] = dict.fromkeys(("create", "delete", "get", "patch", "update"), connect)

SUBRESOURCES: Mapping[str, Mapping[str, Verb]] = {
    "scale": {"get": get_scale, "update": update_scale, "patch": patch_scale},
    "binding": {"create": bind},
    "eviction": {"create": evict},
    "token": {"create": issue_token},
    "log": {"get": pod_log},
    "attach": _CONNECT,
    "exec": _CONNECT,
    "portforward": _CONNECT,
    "proxy": _CONNECT,
}
