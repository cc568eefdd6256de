"""Validation of probes and lifecycle hooks."""

from setpoint.objects.field import FieldError, child, forbidden, invalid, not_supported, required
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.validation.values import header_name, non_negative_fields, port, port_or_name

_LIVELINESS = ("livenessProbe", "startupProbe")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_RT_SIGNALS = (*(f"SIGRTMIN+{n}" for n in range(1, 16)), *(f"SIGRTMAX-{n}" for n in range(14, 0, -1)))
_SIGNALS = {
    *("SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE", "SIGHUP", "SIGILL", "SIGINT", "SIGIO"),
    *("SIGIOT", "SIGKILL", "SIGPIPE", "SIGPOLL", "SIGPROF", "SIGPWR", "SIGQUIT", "SIGSEGV", "SIGSTKFLT", "SIGSTOP"),
    *("SIGSYS", "SIGTERM", "SIGTRAP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGUSR1", "SIGUSR2", "SIGVTALRM"),
    *("SIGWINCH", "SIGXCPU", "SIGXFSZ", "SIGRTMIN", *_RT_SIGNALS, "SIGRTMAX"),
}
_WINDOWS_SIGNALS = {"SIGKILL", "SIGTERM"}


def validate_handlers(container: Object, path: str, grace: int | None, system: str) -> list[FieldError]:
    """Validates the hooks and probes of a regular container or sidecar."""
    found: list[FieldError] = []
    hooks = container.get("lifecycle")
    if hooks is not None:
        place = child(path, "lifecycle")
        for name in ("postStart", "preStop"):
            if name in hooks:
                found += _validate_handler(hooks[name], child(place, name), grace)
        if "stopSignal" in hooks:
            found += _validate_stop_signal(hooks["stopSignal"], child(place, "stopSignal"), system)
    for name in _PROBES:
        if name in container:
            found += _validate_probe(container[name], child(path, name), grace, name)
    return found


def forbid_handlers(container: Object, path: str) -> list[FieldError]:
    """Returns errors for hooks and probes of init containers that are not sidecars."""
    why = "may not be set for init containers without restartPolicy=Always"
    return [forbidden(child(path, name), why) for name in ("lifecycle", *_PROBES) if name in container]


def _validate_probe(probe: Object, path: str, grace: int | None, name: str) -> list[FieldError]:
    found = _validate_handler(probe, path, grace)
    found += non_negative_fields(
        probe, path, "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"
    )
    period = probe.get("terminationGracePeriodSeconds")
    if period is not None and period <= 0:
        found.append(invalid(child(path, "terminationGracePeriodSeconds"), period, "must be greater than 0"))
    if name in _LIVELINESS and probe.get("successThreshold", 0) != 1:
        found.append(invalid(child(path, "successThreshold"), probe.get("successThreshold", 0), "must be 1"))
    if name == "readinessProbe" and period is not None:
        why = "must not be set for readinessProbes"
        found.append(invalid(child(path, "terminationGracePeriodSeconds"), period, why))
    return found


def _validate_handler(handler: Object, path: str, grace: int | None) -> list[FieldError]:
    given = [name for name in ("exec", "httpGet", "tcpSocket", "grpc", "sleep") if name in handler]
    if not given:
        return [required(path, "must specify a handler type")]
    first, *others = given
    found = _validate_action(first, handler[first], child(path, first), grace)
    return found + [forbidden(child(path, name), "may not specify more than 1 handler type") for name in others]


def _validate_action(name: str, action: Object, path: str, grace: int | None) -> list[FieldError]:
    if name == "exec":
        return [] if action.get("command") else [required(child(path, "command"))]
    if name == "httpGet":
        return _validate_http_get(action, path)
    if name == "tcpSocket":
        return port_or_name(action.get("port", 0), child(path, "port"))
    if name == "grpc":
        return port(action.get("port", 0), child(path, "port"))
    seconds = action.get("seconds", 0)
    if grace is not None and not 0 <= seconds <= grace:
        why = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        return [invalid(path, seconds, why)]
    return []


def _validate_http_get(action: Object, path: str) -> list[FieldError]:
    found = [] if action.get("path") else [required(child(path, "path"))]
    found += port_or_name(action.get("port", 0), child(path, "port"))
    scheme = action.get("scheme") or ""
    if scheme not in ("HTTP", "HTTPS"):
        found.append(not_supported(child(path, "scheme"), scheme, ("HTTP", "HTTPS")))
    for header in action.get("httpHeaders") or ():
        found += header_name(header.get("name") or "", child(path, "httpHeaders"))
    return found


def _validate_stop_signal(signal: str, path: str, system: str) -> list[FieldError]:
    if not system:
        return [forbidden(path, "may not be set for containers with empty `spec.os.name`")]
    known = {"linux": _SIGNALS, "windows": _WINDOWS_SIGNALS}.get(system)
    return [] if known is None or signal in known else [not_supported(path, signal, sorted(known))]
