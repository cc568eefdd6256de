"""Ingresses and IngressClasses: external access to services."""

from collections.abc import Sequence
from datetime import datetime

from setpoint.objects.field import FieldError, child, forbidden, index, invalid, not_supported, required, too_long
from setpoint.objects.names import dns1123_label, dns1123_subdomain
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.base_strategy import ValidatingStrategy, immutable
from setpoint.server.registry.kinds.printers.cells import NONE, field, lookup
from setpoint.server.registry.kinds.printers.columns import AGE, NAME
from setpoint.server.registry.kinds.validation.references import (
    domain_prefixed_path,
    host_or_wildcard,
    path_segments,
    validate_local_reference,
)
from setpoint.server.registry.kinds.validation.values import in_range, ip, parse_ip, port_name, wrong
from setpoint.server.registry.strategy import Column

_CLASS_ANNOTATION = "kubernetes.io/ingress.class"
_DEFAULT_CLASS_ANNOTATION = "ingressclass.kubernetes.io/is-default-class"
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_SEQUENCES = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDINGS = ("/..", "/.")
_NO_ADDRESS = "must be a DNS name, not an IP address"
_MAX_CONTROLLER = 250


def _hosts(tree: Object, _now: datetime) -> str:
    rules = lookup(tree, "spec", "rules") or ()
    hosts: list[str] = []
    more = False
    for rule in rules:
        more = more or len(hosts) == 3
        if rule.get("host") and not more:
            hosts.append(rule["host"])
    if not hosts:
        return "*"
    return f"{','.join(hosts)} + {len(rules) - 3} more..." if more else ",".join(hosts)


def _address(tree: Object, _now: datetime) -> str:
    found = {point.get("ip") or point.get("hostname") for point in _points(tree)}
    return ",".join(sorted(address for address in found if address))


def _points(tree: Object) -> Sequence[Object]:
    return lookup(tree, "status", "loadBalancer", "ingress") or ()


def _ports(tree: Object, _now: datetime) -> str:
    return "80, 443" if lookup(tree, "spec", "tls") else "80"


class IngressStrategy(ValidatingStrategy):
    name_on_update = "after"
    keeps_generation = True
    columns = (
        NAME,
        Column("Class", field("spec", "ingressClassName", absent=NONE)),
        Column("Hosts", _hosts),
        Column("Address", _address),
        Column("Ports", _ports),
        AGE,
    )

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec = tree.get("spec") or {}
        found: list[FieldError] = []
        rules, backend = spec.get("rules") or [], spec.get("defaultBackend")
        if not rules and backend is None:
            found.append(invalid("spec", spec.get("rules"), "either `defaultBackend` or `rules` must be specified"))
        if backend is not None:
            found += _validate_backend(backend, "spec.defaultBackend")
        for position, rule in enumerate(rules):
            found += _validate_rule(rule, index("spec.rules", position))
        for position, tls in enumerate(spec.get("tls") or ()):
            found += _validate_tls(tls, index("spec.tls", position))
        class_name = spec.get("ingressClassName")
        if class_name is not None:
            found += wrong("spec.ingressClassName", class_name, dns1123_subdomain(class_name))
            annotation = (tree["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION, class_name)
            if old is None and annotation != class_name:
                why = "must match `ingressClassName` when both are specified"
                found.append(invalid(f"annotations.{_CLASS_ANNOTATION}", annotation, why))
        return found

    def check_status(self, tree: Object, old: Object) -> list[FieldError]:
        found: list[FieldError] = []
        known = {point.get("ip") for point in _points(old)}
        for position, point in enumerate(_points(tree)):
            path = index("status.loadBalancer.ingress", position)
            if point.get("ip") and point["ip"] not in known:
                found += ip(point["ip"], f"{path}.ip")
            name = point.get("hostname")
            if name:
                found += wrong(f"{path}.hostname", name, dns1123_subdomain(name))
                if parse_ip(name):
                    found.append(invalid(f"{path}.hostname", name, _NO_ADDRESS))
        return found

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        annotations, spec = tree["metadata"].get("annotations") or {}, tree.get("spec") or {}
        if old is None and _CLASS_ANNOTATION in annotations and "ingressClassName" not in spec:
            return [f"annotation \"{_CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"]
        return []


def _validate_tls(tls: Object, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for position, host in enumerate(tls.get("hosts") or ()):
        found += host_or_wildcard(host, index(f"{path}.hosts", position))
    secret = tls.get("secretName")
    return found + wrong(f"{path}.secretName", secret, dns1123_subdomain(secret)) if secret else found


def _validate_rule(rule: Object, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    host, http = rule.get("host"), rule.get("http")
    if host:
        if parse_ip(host):
            found.append(invalid(f"{path}.host", host, _NO_ADDRESS))
        found += host_or_wildcard(host, f"{path}.host")
    if http is not None:
        place, paths = f"{path}.http.paths", http.get("paths") or ()
        if not paths:
            found.append(required(place))
        for position, item in enumerate(paths):
            found += _validate_path(item, index(place, position))
    return found


def _validate_path(item: Object, path: str) -> list[FieldError]:
    kind, value, place = item.get("pathType"), item.get("path") or "", f"{path}.path"
    if not kind:
        return [required(f"{path}.pathType", "pathType must be specified")]
    found: list[FieldError] = []
    if kind in ("Exact", "Prefix"):
        if not value.startswith("/"):
            found.append(invalid(place, value, "must be an absolute path"))
        found += [invalid(place, value, f"must not contain '{part}'") for part in _BAD_SEQUENCES if part in value]
        found += [invalid(place, value, f"cannot end with '{end}'") for end in _BAD_ENDINGS if value.endswith(end)]
    elif kind == "ImplementationSpecific":
        if value and not value.startswith("/"):
            found.append(invalid(place, value, "must be an absolute path"))
    else:
        found.append(not_supported(f"{path}.pathType", kind, _PATH_TYPES))
    return found + _validate_backend(item.get("backend") or {}, f"{path}.backend")


def _validate_backend(backend: Object, path: str) -> list[FieldError]:
    """Validates a backend: a service and its port, or an object of another kind."""
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        return [invalid(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        return validate_local_reference(resource, child(path, "resource"))
    if service is None:
        return [invalid(path, "", "resource or service backend is required")]
    place, name = f"{path}.service.name", service.get("name") or ""
    found = wrong(place, name, dns1123_label(name)) if name else [required(place)]
    port = service.get("port") or {}
    port_text, number = port.get("name"), port.get("number")
    if port_text and number:
        found.append(invalid(path, "", "cannot set both port name & port number"))
    elif port_text:
        found += wrong(f"{path}.service.port.name", port_text, port_name(port_text))
    elif number:
        found += in_range(number, f"{path}.service.port.number", 1, 65535)
    else:
        found.append(required(path, "port name or number is required"))
    return found


def _class_name(tree: Object, _now: datetime) -> str:
    metadata = tree.get("metadata") or {}
    is_default = (metadata.get("annotations") or {}).get(_DEFAULT_CLASS_ANNOTATION) == "true"
    return f"{metadata.get('name', '')} (default)" if is_default else metadata.get("name", "")


def _parameters(tree: Object, _now: datetime) -> str:
    found = lookup(tree, "spec", "parameters")
    if found is None:
        return NONE
    group = f".{found['apiGroup']}" if found.get("apiGroup") is not None else ""
    return f"{found.get('kind', '')}{group}/{found.get('name', '')}"


class IngressClassStrategy(ValidatingStrategy):
    name_on_update = "after"
    keeps_generation = True
    declared_rules = ("spec.parameters.kind Required", "spec.parameters.name Required")
    columns = (
        Column("Name", _class_name, format="name"),
        Column("Controller", field("spec", "controller")),
        Column("Parameters", _parameters),
        AGE,
    )

    def default(self, tree: Object) -> None:
        parameters = lookup(tree, "spec", "parameters")
        if parameters is not None and parameters.get("scope") is None:
            parameters["scope"] = "Cluster"

    def changes_before_name(self, tree: Object, old: Object) -> list[FieldError]:
        paths = ("spec", "controller")
        return immutable(lookup(tree, *paths) or "", lookup(old, *paths), "spec.controller")

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec = tree.get("spec") or {}
        controller = spec.get("controller") or ""
        found: list[FieldError] = []
        if len(controller.encode()) > _MAX_CONTROLLER:
            found.append(too_long("spec.controller", _MAX_CONTROLLER))
        found += domain_prefixed_path(controller, "spec.controller")
        parameters = spec.get("parameters")
        return found if parameters is None else found + _validate_parameters(parameters, "spec.parameters")


def _validate_parameters(parameters: Object, path: str) -> list[FieldError]:
    group = parameters.get("apiGroup")
    found = [] if group is None else wrong(f"{path}.apiGroup", group, dns1123_subdomain(group))
    found += path_segments(parameters, path, "kind", "name")
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope is None:
        found.append(required(f"{path}.scope"))
    elif scope not in ("Cluster", "Namespace"):
        found.append(not_supported(f"{path}.scope", scope, ("Cluster", "Namespace")))
    elif scope == "Namespace":
        place, why = f"{path}.namespace", "`parameters.scope` is set to 'Namespace'"
        found += [required(place, why)] if namespace is None else wrong(place, namespace, dns1123_label(namespace))
    elif namespace is not None:
        found.append(forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'"))
    return found
