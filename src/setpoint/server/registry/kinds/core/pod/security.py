"""Security contexts of pods and containers, and the settings that an operating system does not support."""

import re
from collections.abc import Iterable

from setpoint.objects.field import (
    FieldError,
    child,
    duplicate,
    forbidden,
    index,
    invalid,
    not_supported,
    required,
    too_long,
)
from setpoint.objects.names import dns1123_subdomain
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.gotypes.difference import struct_value
from setpoint.server.registry.kinds.validation.values import INT32_MAX, descending_path, in_range, wrong

_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_SYSCTL = "([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL_NAME = re.compile(_SYSCTL + r"\Z")
_IPC_SYSCTLS = ("kernel.shm", "kernel.msg", "fs.mqueue.")
_WINDOWS = "cannot be set for a windows pod"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NETBIOS = re.compile(r"""[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}\Z""")
_DNS_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS_DOMAIN = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*\Z")
_NOT_IN_USER = re.compile(r"""["/\\:;|=,+*?<>@\[\]]""")
_ONLY_DOTS = re.compile(r"[. ]+\Z")

# The fields that Windows pods do not support, in the order of the API.
_NOT_ON_WINDOWS = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls", "runAsUser"),
    *("runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy"),
)
_NOT_IN_WINDOWS_CONTAINERS = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged"),
    *("allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup"),
)
_Places = Iterable[tuple[Object, str]]


def validate_security_context(context: Object, path: str, host_users: bool) -> list[FieldError]:
    """Validates the security context of a container."""
    found = _validate_ids(context, path, "runAsUser", "runAsGroup")
    mount = context.get("procMount")
    if mount is not None:
        if mount not in ("Default", "Unmasked"):
            found.append(not_supported(child(path, "procMount"), mount, ("Default", "Unmasked")))
        if host_users and mount == "Unmasked":
            found.append(invalid(child(path, "procMount"), mount, "`hostUsers` must be false to use `Unmasked`"))
    if "seccompProfile" in context:
        found += _validate_seccomp(context["seccompProfile"], child(path, "seccompProfile"))
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            found.append(invalid(path, struct_value("SecurityContext", context), why))
        for capability in (context.get("capabilities") or {}).get("add") or ():
            if capability == "CAP_SYS_ADMIN":
                why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
                found.append(invalid(path, struct_value("SecurityContext", context), why))
    return found + _validate_profiles(context, path)


def validate_pod_security_context(context: Object, spec: Object, path: str) -> list[FieldError]:
    """Validates the security context of a pod, which applies to its containers unless they override it."""
    found = _validate_ids(context, path, "fsGroup", "runAsUser", "runAsGroup")
    for position, group in enumerate(context.get("supplementalGroups") or ()):
        found += in_range(group, index(child(path, "supplementalGroups"), position), 0, INT32_MAX)
    if context.get("sysctls"):
        found += _validate_sysctls(context["sysctls"], spec, child(path, "sysctls"))
    found += _validate_choice(context, path, "fsGroupChangePolicy", ("Always", "OnRootMismatch"))
    if "seccompProfile" in context:
        found += _validate_seccomp(context["seccompProfile"], child(path, "seccompProfile"))
    found += _validate_profiles(context, path)
    found += _validate_choice(context, path, "supplementalGroupsPolicy", ("Merge", "Strict"))
    return found + _validate_choice(context, path, "seLinuxChangePolicy", ("MountOption", "Recursive"))


def _validate_ids(context: Object, path: str, *names: str) -> list[FieldError]:
    found: list[FieldError] = []
    for name in names:
        if context.get(name) is not None:
            found += in_range(context[name], child(path, name), 0, INT32_MAX)
    return found


def _validate_choice(context: Object, path: str, name: str, choices: tuple[str, ...]) -> list[FieldError]:
    value = context.get(name)
    return [] if value is None or value in choices else [not_supported(child(path, name), value, choices)]


def _validate_profiles(context: Object, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if "windowsOptions" in context:
        found += _validate_windows_options(context["windowsOptions"], child(path, "windowsOptions"))
    if "appArmorProfile" in context:
        found += _validate_app_armor(context["appArmorProfile"], child(path, "appArmorProfile"))
    return found


def _validate_seccomp(profile: Object, path: str) -> list[FieldError]:
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    found: list[FieldError] = []
    if not kind:
        found.append(required(child(path, "type"), "type is required when seccompProfile is set"))
    elif kind not in _PROFILES:
        found.append(not_supported(child(path, "type"), kind, _PROFILES))
    place = child(path, "localhostProfile")
    if kind != "Localhost":
        if local is not None:
            shown = struct_value("SeccompProfile", profile)
            found.append(invalid(place, shown, "can only be set when seccomp type is Localhost"))
    elif local is None:
        found.append(required(place, "must be set when seccomp type is Localhost"))
    else:
        found += descending_path(local, place)
    return found


def _validate_app_armor(profile: Object, path: str) -> list[FieldError]:
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    place = child(path, "localhostProfile")
    if not kind:
        return [required(child(path, "type"), "type is required when appArmorProfile is set")]
    if kind not in _PROFILES:
        return [not_supported(child(path, "type"), kind, _PROFILES)]
    if kind != "Localhost":
        why = "can only be set when AppArmor type is Localhost"
        return [] if local is None else [invalid(place, local, why)]
    if not local:
        return [required(place, "must be set when AppArmor type is Localhost")]
    found = [] if local == local.strip() else [invalid(place, local, "must not be padded with whitespace")]
    return [*found, too_long(place, 4095)] if len(local) > 4095 else found


def _validate_sysctls(sysctls: list[Object], spec: Object, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[str] = set()
    for position, sysctl in enumerate(sysctls):
        name = sysctl.get("name") or ""
        place = child(index(path, position), "name")
        if not name:
            found.append(required(place))
        elif len(name) > 253 or not _SYSCTL_NAME.match(name):
            found.append(invalid(place, name, f"must have at most 253 characters and match regex ^{_SYSCTL}$"))
        elif name in seen:
            found.append(duplicate(place, name))
        seen.add(name)
        dotted = name.replace("/", ".") if "/" in name.split(".", 1)[0] else name
        if spec.get("hostNetwork") and dotted.startswith("net."):
            found.append(invalid(place, name, "may not be specified when 'hostNetwork' is true"))
        elif spec.get("hostIPC") and (dotted == "kernel.sem" or dotted.startswith(_IPC_SYSCTLS)):
            found.append(invalid(place, name, "may not be specified when 'hostIPC' is true"))
    return found


# --- Windows ---


def _validate_windows_options(options: Object, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    name = options.get("gmsaCredentialSpecName")
    if name is not None:
        found += wrong(child(path, "gmsaCredentialSpecName"), name, dns1123_subdomain(name))
    credentials = options.get("gmsaCredentialSpec")
    if credentials is not None and not 0 < len(credentials) <= 64 * 1024:
        why = "size must be under 64 KiB" if credentials else "cannot be an empty string"
        found.append(invalid(child(path, "gmsaCredentialSpec"), credentials, f"gmsaCredentialSpec {why}"))
    user = options.get("runAsUserName")
    if user is not None:
        found += wrong(child(path, "runAsUserName"), user, _user_name_problems(user))
    return found


def _user_name_problems(name: str) -> list[str]:
    if not name:
        return ["runAsUserName cannot be an empty string"]
    if _CONTROL.search(name):
        return ["runAsUserName cannot contain control characters"]
    if name.count("\\") > 1:
        return ["runAsUserName cannot contain more than one backslash"]
    domain, backslash, user = name.rpartition("\\")
    found = []
    if len(domain) >= 256:
        found.append("runAsUserName's Domain length must be under 256 characters")
    if backslash and not (_NETBIOS.match(domain) or _DNS_DOMAIN.match(domain)):
        found.append("runAsUserName's Domain doesn't match the NetBios nor the DNS format")
    if not user:
        found.append("runAsUserName's User cannot be empty")
    elif len(user) > 104:
        found.append("runAsUserName's User length must not be longer than 104 characters")
    if _ONLY_DOTS.match(user):
        found.append("runAsUserName's User cannot contain only periods or spaces")
    if _NOT_IN_USER.search(user):
        found.append("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return found


def validate_host_process(spec: Object, path: str, containers: _Places) -> list[FieldError]:
    """Validates that either all containers of a Windows pod are host processes, or none."""
    found: list[FieldError] = []
    of_pod = _host_process(spec)
    count = processes = 0
    for container, place in containers:
        count += 1
        own = _host_process(container)
        if of_pod is not None and own is not None and of_pod != own:
            why = f"pod hostProcess value must be identical if both are specified, was {str(of_pod).lower()}"
            found.append(invalid(f"{place}.securityContext.windowsOptions.hostProcess", own, why))
        processes += bool(of_pod if own is None else own)
    if processes and processes != count:
        why = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        found.append(invalid(path, "", why))
    if processes and not spec.get("hostNetwork"):
        why = "hostNetwork must be true if pod contains any hostProcess containers"
        found.append(invalid(child(path, "hostNetwork"), False, why))
    return found


def _host_process(holder: Object) -> bool | None:
    options = (holder.get("securityContext") or {}).get("windowsOptions") or {}
    found: bool | None = options.get("hostProcess")
    return found


def validate_system(spec: Object, path: str, containers: _Places) -> list[FieldError]:
    """Validates the operating system of a pod, and rejects settings that the system does not support."""
    system = spec["os"].get("name") or ""
    place = child(path, "os")
    if not system:
        return [required(child(place, "name"))]
    if system not in ("linux", "windows"):
        return [not_supported(place, system, ("linux", "windows"))]
    context = spec.get("securityContext") or {}
    where = child(path, "securityContext")
    if system == "linux":
        holders = [
            (context, where),
            *((holder.get("securityContext") or {}, f"{at}.securityContext") for holder, at in containers),
        ]
        why = "windows options cannot be set for a linux pod"
        return [forbidden(child(at, "windowsOptions"), why) for held, at in holders if "windowsOptions" in held]
    found = [forbidden(child(where, name), _WINDOWS) for name in _NOT_ON_WINDOWS if name in context]
    of_hosts = ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace")
    found += [forbidden(child(path, name), _WINDOWS) for name in of_hosts if name in spec]
    for container, at in containers:
        held = container.get("securityContext") or {}
        where = f"{at}.securityContext"
        found += [forbidden(child(where, name), _WINDOWS) for name in _NOT_IN_WINDOWS_CONTAINERS if name in held]
    return found
