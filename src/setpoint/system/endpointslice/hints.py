"""The hints of endpoints: the zones and nodes whose clients should prefer them, by `spec.trafficDistribution`."""

from setpoint.objects.tree import Object

SAME_NODE = "PreferSameNode"
_DISTRIBUTIONS = frozenset(("PreferClose", "PreferSameZone", SAME_NODE))


def set_hints(slices: list[Object], service: Object) -> bool:
    """Sets or removes the hints of all endpoints. Returns True if any hint has changed."""
    distribution = service["spec"].get("trafficDistribution")
    has_changed = False
    for each in slices:
        for endpoint in each["endpoints"]:
            if distribution in _DISTRIBUTIONS:
                if not (endpoint.get("conditions") or {}).get("ready"):
                    continue
                wanted = _hints(endpoint, distribution)
            else:
                wanted = None
            if endpoint.get("hints") != wanted:
                has_changed = True
                endpoint["hints"] = wanted
                if wanted is None:
                    del endpoint["hints"]
    return has_changed


def _hints(endpoint: Object, distribution: str) -> Object | None:
    hints: Object = {}
    if endpoint.get("zone") is not None:
        hints["forZones"] = [{"name": endpoint["zone"]}]
    if distribution == SAME_NODE and endpoint.get("nodeName") is not None:
        hints["forNodes"] = [{"name": endpoint["nodeName"]}]
    return hints or None
