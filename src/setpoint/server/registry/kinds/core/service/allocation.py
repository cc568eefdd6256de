"""Allocation for a Service: IP families, addresses, node ports."""

from setpoint.objects.errors import join_errors
from setpoint.objects.field import FieldError, child, index, invalid, required
from setpoint.objects.names import path_segment
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.core.service.addresses import validate_addresses
from setpoint.server.registry.kinds.core.service.allocator import AllocationError, DryPool, Pool
from setpoint.server.registry.kinds.core.service.traits import is_headless, needs_health_check, needs_node_ports
from setpoint.server.registry.kinds.validation.values import wrong


def choose_families(spec: Object, stored: Object | None, pool: Pool) -> list[FieldError]:
    """Sets the IP families and their policy. The server has one family: dual-stack is possible only for headless
    Services without a selector."""
    if spec.get("type") == "ExternalName":
        return []
    bare = spec.get("clusterIP") == "None" and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        before = (stored or {}).get("ipFamilyPolicy")
        spec["ipFamilyPolicy"] = before or ("RequireDualStack" if bare else "SingleStack")
    found = validate_addresses(spec)
    if found:
        return found
    policy = spec["ipFamilyPolicy"]
    if stored is not None and policy == "SingleStack":
        for name in ("clusterIPs", "ipFamilies"):
            if spec.get(name) == stored.get(name) and len(spec.get(name) or ()) > 1:
                spec[name] = spec[name][:1]
    if policy == "SingleStack":
        why = "must be 'RequireDualStack' or 'PreferDualStack' when multiple"
        if len(spec.get("clusterIPs") or ()) == 2:
            found.append(invalid("spec.ipFamilyPolicy", policy, f"{why} cluster IPs are specified"))
        if len(spec.get("ipFamilies") or ()) == 2:
            found.append(invalid("spec.ipFamilyPolicy", policy, f"{why} IP families are specified"))
    families = list(spec.get("ipFamilies") or ())
    for position, address in enumerate(spec.get("clusterIPs") or ()):
        if address == "None":
            break
        family = "IPv6" if ":" in address else "IPv4"
        if position >= len(families):
            if family != pool.family:
                why = f"{family} is not configured on this cluster"
                found.append(invalid(index("spec.clusterIPs", position), spec["clusterIPs"], why))
            else:
                families.append(family)
    if found:
        return found
    if bare:
        families = families or [pool.family]
        if len(families) < 2 and policy != "SingleStack":
            families.append("IPv6" if families[0] == "IPv4" else "IPv4")
        spec["ipFamilies"] = families
        return []
    if policy == "RequireDualStack":
        why = "this cluster is not configured for dual-stack services"
        found.append(invalid("spec.ipFamilyPolicy", policy, why))
    for position, family in enumerate(families):
        if family != pool.family:
            found.append(invalid(index("spec.ipFamilies", position), family, "not configured on this cluster"))
    if not found:
        spec["ipFamilies"] = families or [pool.family]
    return found


def allocate_addresses(spec: Object, stored: Object | None, pool: Pool, name: str) -> list[FieldError]:
    if spec.get("type") == "ExternalName" or is_headless(spec):
        return []
    if stored is not None and stored.get("type") != "ExternalName":
        return []
    wanted = spec.get("clusterIPs") or [""]
    try:
        given = [pool.reserve_address(address) for address in wanted]
    except AllocationError as error:
        which = f" {wanted[0]}" if wanted[0] else ""
        return [invalid("spec.clusterIPs", spec.get("clusterIPs") or [], f"failed to allocate IP{which}: {error}")]
    # The IPAddress of the Service, which a dry run does not create, refers to the name.
    problem = "" if isinstance(pool, DryPool) else _reference_problem(name)
    if problem:
        why = f'failed to allocate IP: IPAddress.networking.k8s.io "{given[0]}" is invalid: {problem}'
        return [invalid("spec.clusterIPs", wanted, why)]
    spec["clusterIPs"], spec["clusterIP"] = given, given[0]
    return []


def _reference_problem(name: str) -> str:
    """Returns the error of the name of a Service that an IPAddress cannot refer to; empty if there is none."""
    path = "spec.parentRef.name"
    errors = wrong(path, name, path_segment(name)) if name else [required(path)]
    return join_errors(map(str, errors)) if errors else ""


def allocate_ports(spec: Object, stored: Object | None, pool: Pool) -> list[FieldError]:
    before = {entry.get("nodePort", 0) for entry in (stored or {}).get("ports") or ()} - {0}
    if needs_node_ports(spec):
        wants = spec.get("type") == "NodePort" or spec.get("allocateLoadBalancerNodePorts") is not False
        # Ports of the same number in different protocols share a node port.
        by_port: dict[int, int] = {}
        for entry in spec.get("ports") or ():
            if entry.get("nodePort"):
                by_port.setdefault(entry.get("port", 0), entry["nodePort"])
        taken = set(before)
        for position, entry in enumerate(spec.get("ports") or ()):
            number = entry.get("nodePort") or (by_port.get(entry.get("port", 0), 0) if stored is None else 0)
            if not number and not wants:
                continue
            try:
                if number not in taken:
                    number = pool.reserve_port(number)
            except AllocationError as error:
                return [invalid(child(index("spec.ports", position), "nodePort"), number, str(error))]
            taken.add(number)
            entry["nodePort"] = number
            by_port.setdefault(entry.get("port", 0), number)
    if needs_health_check(spec) and not (stored and needs_health_check(stored)):
        try:
            spec["healthCheckNodePort"] = pool.reserve_port(spec.get("healthCheckNodePort", 0))
        except AllocationError as error:
            return [invalid("spec.healthCheckNodePort", spec.get("healthCheckNodePort", 0), str(error))]
    return []
