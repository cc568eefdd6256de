"""Warnings about valid but problematic settings of pods."""

from setpoint.objects.gotext import quote
from setpoint.objects.names import dns1123_label
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.core.pod.validation import containers_with_paths
from setpoint.server.registry.kinds.validation.values import amount

_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
# The labels of nodes that had other names in their beta version, with their names now.
STABLE_NODE_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
}
_SINCE = {"beta.kubernetes.io/os": "v1.14", "beta.kubernetes.io/arch": "v1.14"}
_NO_POD = "a null labelSelector results in matching no pod"
_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_BYTES = ("memory", "ephemeral-storage")
_NAME_WARNING = (
    "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is "
    "recommended: "
)


def name_warning(tree: Object) -> list[str]:
    """Returns a warning if the name is not a valid DNS label, because the names of pods are derived from the name."""
    problems = dns1123_label(tree["metadata"].get("name") or "")
    return [f"{_NAME_WARNING}[{' '.join(problems)}]"] if problems else []


def pod_warnings(pod: Object, path: str = "") -> list[str]:
    """Returns the warnings for a pod, or for a template at a path."""
    prefix = f"{path}." if path else ""
    spec, place = pod.get("spec") or {}, f"{prefix}spec"
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    found = _placement(spec, place)
    for key, text in _ANNOTATIONS.items():
        if key in annotations:
            found.append(f"{prefix}metadata.annotations[{key}]: {text}")
    for position, volume in enumerate(spec.get("volumes") or ()):
        for name, text in _VOLUMES.items():
            if name in volume:
                shown = "storageOS" if name == "storageos" else name
                found.append(f"{place}.volumes[{position}].{shown}: {text}")
    found += _repeated(spec.get("hostAliases") or [], "ip", f"{place}.hostAliases")
    secrets = spec.get("imagePullSecrets") or []
    found += _repeated(secrets, "name", f"{place}.imagePullSecrets")
    for position, secret in enumerate(secrets):
        if not secret.get("name"):
            found.append(f'{place}.imagePullSecrets[{position}].name: invalid empty name ""')
    found += _fractions(spec.get("overhead") or {}, f"{place}.overhead")
    if _SECCOMP_POD in annotations and "seccompProfile" not in (spec.get("securityContext") or {}):
        found.append(f"{prefix}metadata.annotations[{_SECCOMP_POD}]: {_SECCOMP}")
    containers = containers_with_paths(spec, place)
    for container, at in containers:
        key = _SECCOMP_CONTAINER + (container.get("name") or "")
        if key in annotations and "seccompProfile" not in (container.get("securityContext") or {}):
            found.append(f"{prefix}metadata.annotations[{key}]: {_SECCOMP}")
        resources = container.get("resources") or {}
        for name in _BYTES:
            for kind in ("limits", "requests"):
                amounts = resources.get(kind) or {}
                if name in amounts:
                    found += _fractions({name: amounts[name]}, f"{at}.resources.{kind}")
        found += _hidden_variables(container.get("env") or [], at)
    found += _ports(containers)
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        why = "must be >= 0; negative values are invalid and will be treated as 1"
        found.append(f"{place}.terminationGracePeriodSeconds: {why}")
    return found + _affinities(spec.get("affinity") or {}, place)


def _placement(spec: Object, path: str) -> list[str]:
    wanted = [key for key in spec.get("nodeSelector") or () if key in STABLE_NODE_LABELS]
    found = [f"{path}.nodeSelector[{key}]: {_deprecated(key)}" for key in wanted]
    for position, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        place = f"{path}.topologySpreadConstraints[{position}]"
        key = constraint.get("topologyKey") or ""
        if key in STABLE_NODE_LABELS:
            found.append(f"{place}.topologyKey: {key} is {_deprecated(key)}")
        if "labelSelector" not in constraint:
            found.append(f"{place}.labelSelector: {_NO_POD}")
    return found


def _deprecated(key: str) -> str:
    return f'deprecated since {_SINCE.get(key, "v1.17")}; use "{STABLE_NODE_LABELS[key]}" instead'


def _repeated(items: list[Object], name: str, path: str) -> list[str]:
    seen: set[str] = set()
    found = []
    for position, item in enumerate(items):
        value = item.get(name) or ""
        if value in seen:
            found.append(f"{path}[{position}].{name}: duplicate {name} {quote(value)}")
        seen.add(value)
    return found


def _fractions(amounts: Object, path: str) -> list[str]:
    return [
        f"{path}[{name}]: fractional byte value {quote(str(amounts[name]))} is invalid, must be an integer"
        for name in _BYTES
        if name in amounts and amount(amounts[name]).value(-3) % 1000
    ]


def _hidden_variables(variables: list[Object], path: str) -> list[str]:
    seen: set[str] = set()
    found = []
    for position, variable in enumerate(variables):
        name, value = variable.get("name") or "", variable.get("value") or ""
        reference = f"$({name})"
        if name in seen and ("valueFrom" in variable or value == reference or reference not in value):
            why = f"hides previous definition of {quote(name)}, which may be dropped when using apply"
            found.append(f"{path}.env[{position}]: {why}")
        seen.add(name)
    return found


def _ports(containers: list[tuple[Object, str]]) -> list[str]:
    found = []
    taken: dict[tuple[int, str], list[tuple[Object, str]]] = {}
    names: dict[str, str] = {}
    ports = [
        (port, f"{path}.ports[{position}]")
        for container, path in containers
        for position, port in enumerate(container.get("ports") or ())
    ]
    for port, place in ports:
        others = taken.setdefault((port.get("containerPort", 0), port.get("protocol") or ""), [])
        for other, elsewhere in others:
            clash = _clash(port, other)
            if clash:
                found.append(f"{place}: {clash} port definition with {elsewhere}")
        others.append((port, place))
    for port, place in ports:
        name = port.get("name")
        if name and name in names:
            first = names[name]
            why = f"services and probes that select ports by name will use {first}"
            found.append(f"{place}: duplicate port name {quote(name)} with {first}, {why}")
        elif name:
            names[name] = place
    return found


def _clash(port: Object, other: Object) -> str:
    host, number = port.get("hostIP") or "", port.get("hostPort", 0)
    other_host, other_number = other.get("hostIP") or "", other.get("hostPort", 0)
    if (host, number) == (other_host, other_number):
        return "duplicate"
    if not number or not other_number:
        return "overlapping"
    return "dangerously ambiguous" if number == other_number and bool(host) != bool(other_host) else ""


def _affinities(affinity: Object, path: str) -> list[str]:
    found = []
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        place = f"{path}.affinity.{kind}"
        for position, term in enumerate(terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ()):
            if "labelSelector" not in term:
                where = f"{place}.requiredDuringSchedulingIgnoredDuringExecution[{position}]"
                found.append(f"{where}.labelSelector: {_NO_POD}")
        for position, term in enumerate(terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ()):
            if "labelSelector" not in (term.get("podAffinityTerm") or {}):
                where = f"{place}.preferredDuringSchedulingIgnoredDuringExecution[{position}].podAffinityTerm"
                found.append(f"{where}.labelSelector: {_NO_POD}")
    return found
