"""The checks of the Pod Security Standards by Kubernetes release, with kube-apiserver's messages.

A check takes the metadata and the spec of a pod and returns the violation, or None. Superseded forms of a check are
kept, because a namespace may select the standard of an older release.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from setpoint.objects.gotext import quote
from setpoint.objects.tree import Object
from setpoint.server.admission.plugins.pods import containers


class Violation(NamedTuple):
    """A violation: a short reason, and the violating part of the pod."""

    reason: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


Check = Callable[[Object, Object], Violation | None]

_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_APPARMOR_CONTAINER = "container.apparmor.security.beta.kubernetes.io/"
_PROFILES = ("RuntimeDefault", "Localhost")
_DEFAULT_CAPABILITIES = frozenset(
    (
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP"),
        *("SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    )
)
_FREE_VOLUMES = (
    *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected"),
    "secret",
)
_OTHER_VOLUMES = (
    *("hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi", "glusterfs", "rbd"),
    *("flexVolume", "cinder", "cephfs", "flocker", "fc", "azureFile", "vsphereVolume", "quobyte", "azureDisk"),
    *("photonPersistentDisk", "portworxVolume", "scaleIO", "storageos"),
)
_SYSCTLS_1_0 = frozenset(
    (
        *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies"),
        *("net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"),
    )
)
_SYSCTLS_1_27 = _SYSCTLS_1_0 | {"net.ipv4.ip_local_reserved_ports"}
_SYSCTLS_1_29 = _SYSCTLS_1_27 | {
    *("net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl"),
    "net.ipv4.tcp_keepalive_probes",
}
_SYSCTLS_1_32 = _SYSCTLS_1_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}
_SYSCTLS_1_37 = _SYSCTLS_1_32 | {"net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_notsent_lowat"}
_SELINUX_1_0 = frozenset(("", "container_t", "container_init_t", "container_kvm_t"))
_SELINUX_1_31 = _SELINUX_1_0 | {"container_engine_t"}


def _contexts(spec: Object) -> Iterator[tuple[str, Object]]:
    """Yields the name and the security context of each container."""
    for _, container in containers(spec):
        yield container.get("name") or "", container.get("securityContext") or {}


def _pod_context(spec: Object) -> Object:
    found: Object = spec.get("securityContext") or {}
    return found


def _quoted(items: Iterable[str]) -> str:
    return ", ".join(f'"{item}"' for item in items)


def _named(word: str, items: Collection[str]) -> str:
    """Formats `container "a"` or `containers "a", "b"`."""
    return f"{word if len(items) == 1 else f'{word}s'} {_quoted(items)}"


def _setters(pod: bool, bad: Collection[str]) -> str:
    """Formats the violating parts: the pod, its containers, or both. Empty if there are none."""
    return " and ".join((["pod"] if pod else []) + ([_named("container", bad)] if bad else []))


def _is_windows(spec: Object) -> bool:
    return (spec.get("os") or {}).get("name") == "windows"


def _unless_windows(check: Check) -> Check:
    """Skips the check for Windows pods, which cannot set these fields."""
    return lambda metadata, spec: None if _is_windows(spec) else check(metadata, spec)


def _unless_own_users(check: Check) -> Check:
    """Skips the check for pods in a user namespace, whose root user has no privileges on the host."""
    return lambda metadata, spec: None if spec.get("hostUsers") is False else check(metadata, spec)


# --- baseline ---


def app_armor_profile(metadata: Object, spec: Object) -> Violation | None:
    values = set()
    own = (_pod_context(spec).get("appArmorProfile") or {"type": _PROFILES[0]}).get("type") or ""
    if own not in _PROFILES:
        values.add(own)
    bad = []
    for name, context in _contexts(spec):
        profile = context.get("appArmorProfile")
        if profile is not None and profile.get("type") not in _PROFILES:
            bad.append(name)
            values.add(profile.get("type") or "")
    annotations = sorted(
        f"{name}={quote(value)}"
        for name, value in (metadata.get("annotations") or {}).items()
        if name.startswith(_APPARMOR_CONTAINER)
        and value not in ("", "runtime/default")
        and not value.startswith("localhost/")
    )
    who = _setters(own not in _PROFILES, bad)
    if annotations:
        word = "annotation" if len(annotations) == 1 else "annotations"
        who = f"{who} and {word}" if who else word
    if not who:
        return None
    listed = [*sorted(values), *annotations]
    reason = "forbidden AppArmor profile" if len(listed) == 1 else "forbidden AppArmor profiles"
    return Violation(reason, f"{who} must not set AppArmor profile type to {_quoted(listed)}")


def capabilities_baseline(metadata: Object, spec: Object) -> Violation | None:
    bad, unusual = [], set()
    for name, context in _contexts(spec):
        added = set((context.get("capabilities") or {}).get("add") or ()) - _DEFAULT_CAPABILITIES
        if added:
            bad.append(name)
            unusual |= added
    if not bad:
        return None
    listed = _quoted(sorted(unusual))
    detail = f"{_named('container', bad)} must not include {listed} in securityContext.capabilities.add"
    return Violation("non-default capabilities", detail)


def host_namespaces(metadata: Object, spec: Object) -> Violation | None:
    shared = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    return Violation("host namespaces", ", ".join(shared)) if shared else None


def host_path_volumes(metadata: Object, spec: Object) -> Violation | None:
    bad = [volume.get("name") or "" for volume in spec.get("volumes") or () if volume.get("hostPath") is not None]
    return Violation("hostPath volumes", _named("volume", bad)) if bad else None


def host_ports(metadata: Object, spec: Object) -> Violation | None:
    bad, found = [], set()
    for _, container in containers(spec):
        ports = {str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")}
        if ports:
            bad.append(container.get("name") or "")
            found |= ports
    if not bad:
        return None
    verb = "uses" if len(bad) == 1 else "use"
    word = "hostPort" if len(found) == 1 else "hostPorts"
    return Violation("hostPort", f"{_named('container', bad)} {verb} {word} {', '.join(sorted(found))}")


def host_probes(metadata: Object, spec: Object) -> Violation | None:
    bad, hosts = set(), set()
    for _, container in containers(spec):
        lifecycle = container.get("lifecycle") or {}
        handlers = [container.get(name) for name in ("livenessProbe", "readinessProbe", "startupProbe")]
        handlers += [lifecycle.get(name) for name in ("postStart", "preStop")]
        for handler in handlers:
            for action in ("httpGet", "tcpSocket"):
                host = ((handler or {}).get(action) or {}).get("host")
                if host:
                    bad.add(container.get("name") or "")
                    hosts.add(host)
    if not bad:
        return None
    verb = "uses" if len(bad) == 1 else "use"
    what = _named("probe or lifecycle host", sorted(hosts))
    return Violation("probe or lifecycle host", f"{_named('container', sorted(bad))} {verb} {what}")


def privileged(metadata: Object, spec: Object) -> Violation | None:
    bad = [name for name, context in _contexts(spec) if context.get("privileged")]
    if not bad:
        return None
    return Violation("privileged", f"{_named('container', bad)} must not set securityContext.privileged=true")


def proc_mount(metadata: Object, spec: Object) -> Violation | None:
    bad, found = [], set()
    for name, context in _contexts(spec):
        mount = context.get("procMount")
        if mount is not None and mount != "Default":
            bad.append(name)
            found.add(mount)
    if not bad:
        return None
    what = _quoted(sorted(found))
    return Violation("procMount", f"{_named('container', bad)} must not set securityContext.procMount to {what}")


def _se_linux(allowed: Collection[str]) -> Check:
    def check(metadata: Object, spec: Object) -> Violation | None:
        types: set[str] = set()
        said: set[str] = set()

        def is_bad(context: Object) -> bool:
            options = context.get("seLinuxOptions")
            if options is None:
                return False
            kind = options.get("type") or ""
            if kind not in allowed:
                types.add(kind)
            said.update(name for name in ("user", "role") if options.get(name))
            return kind not in allowed or bool(options.get("user") or options.get("role"))

        pod = is_bad(_pod_context(spec))
        who = _setters(pod, [name for name, context in _contexts(spec) if is_bad(context)])
        if not who:
            return None
        what = [_named("type", sorted(types))] if types else []
        what += [f"{name} may not be set" for name in ("user", "role") if name in said]
        return Violation("seLinuxOptions", f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(what)}")

    return check


def seccomp_annotations(metadata: Object, spec: Object) -> Violation | None:
    annotations = metadata.get("annotations") or {}
    keys = [_SECCOMP_POD, *(_SECCOMP_CONTAINER + name for name, _ in _contexts(spec))]
    bad = {
        f"{name}={quote(annotations[name])}"
        for name in keys
        if name in annotations
        and annotations[name] not in ("runtime/default", "docker/default")
        and not annotations[name].startswith("localhost/")
    }
    if not bad:
        return None
    word = "annotation" if len(bad) == 1 else "annotations"
    return Violation("seccompProfile", f"forbidden {word} {', '.join(sorted(bad))}")


def seccomp_baseline(metadata: Object, spec: Object) -> Violation | None:
    values = set()
    own = _pod_context(spec).get("seccompProfile")
    is_pod_bad = own is not None and own.get("type") not in _PROFILES
    if own is not None and is_pod_bad:
        values.add(own.get("type") or "")
    bad = []
    for name, context in _contexts(spec):
        profile = context.get("seccompProfile")
        if profile is not None and profile.get("type") not in _PROFILES:
            bad.append(name)
            values.add(profile.get("type") or "")
    who = _setters(is_pod_bad, bad)
    if not who:
        return None
    detail = f"{who} must not set securityContext.seccompProfile.type to {_quoted(sorted(values))}"
    return Violation("seccompProfile", detail)


def _sysctls(allowed: Collection[str]) -> Check:
    def check(metadata: Object, spec: Object) -> Violation | None:
        names = [sysctl.get("name") or "" for sysctl in _pod_context(spec).get("sysctls") or ()]
        bad = [name for name in names if name not in allowed]
        return Violation("forbidden sysctls", ", ".join(bad)) if bad else None

    return check


def windows_host_process(metadata: Object, spec: Object) -> Violation | None:
    def is_bad(context: Object) -> bool:
        return bool((context.get("windowsOptions") or {}).get("hostProcess"))

    who = _setters(is_bad(_pod_context(spec)), [name for name, context in _contexts(spec) if is_bad(context)])
    if not who:
        return None
    return Violation("hostProcess", f"{who} must not set securityContext.windowsOptions.hostProcess=true")


# --- restricted ---


def allow_privilege_escalation(metadata: Object, spec: Object) -> Violation | None:
    bad = [name for name, context in _contexts(spec) if context.get("allowPrivilegeEscalation") is not False]
    if not bad:
        return None
    detail = f"{_named('container', bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail)


def capabilities_restricted(metadata: Object, spec: Object) -> Violation | None:
    keeping, adding, forbidden = [], [], set()
    for name, context in _contexts(spec):
        capabilities = context.get("capabilities") or {}
        if "ALL" not in (capabilities.get("drop") or ()):
            keeping.append(name)
        added = set(capabilities.get("add") or ()) - {"NET_BIND_SERVICE"}
        if added:
            adding.append(name)
            forbidden |= added
    details = []
    if keeping:
        details.append(f'{_named("container", keeping)} must set securityContext.capabilities.drop=["ALL"]')
    if adding:
        listed = _quoted(sorted(forbidden))
        details.append(f"{_named('container', adding)} must not include {listed} in securityContext.capabilities.add")
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def restricted_volumes(metadata: Object, spec: Object) -> Violation | None:
    bad, kinds = [], set()
    for volume in spec.get("volumes") or ():
        if all(volume.get(kind) is None for kind in _FREE_VOLUMES):
            bad.append(volume.get("name") or "")
            kinds.add(next((kind for kind in _OTHER_VOLUMES if volume.get(kind) is not None), "unknown"))
    if not bad:
        return None
    verb = "uses" if len(bad) == 1 else "use"
    what = _named("restricted volume type", sorted(kinds))
    return Violation("restricted volume types", f"{_named('volume', bad)} {verb} {what}")


def run_as_non_root(metadata: Object, spec: Object) -> Violation | None:
    own = _pod_context(spec).get("runAsNonRoot")
    contexts = [(name, context.get("runAsNonRoot")) for name, context in _contexts(spec)]
    who = _setters(own is False, [name for name, said in contexts if said is False])
    if who:
        return Violation("runAsNonRoot != true", f"{who} must not set securityContext.runAsNonRoot=false")
    silent = [name for name, said in contexts if said is None and own is not True]
    if not silent:
        return None
    detail = f"pod or {_named('container', silent)} must set securityContext.runAsNonRoot=true"
    return Violation("runAsNonRoot != true", detail)


def run_as_user(metadata: Object, spec: Object) -> Violation | None:
    bad = [name for name, context in _contexts(spec) if context.get("runAsUser") == 0]
    who = _setters(_pod_context(spec).get("runAsUser") == 0, bad)
    return Violation("runAsUser=0", f"{who} must not set runAsUser=0") if who else None


def seccomp_restricted(metadata: Object, spec: Object) -> Violation | None:
    found = seccomp_baseline(metadata, spec)
    if found is not None or _pod_context(spec).get("seccompProfile") is not None:
        return found
    silent = [name for name, context in _contexts(spec) if context.get("seccompProfile") is None]
    if not silent:
        return None
    must = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {_named('container', silent)} {must}")


class PodSecurityCheck(NamedTuple):
    """A named check in its historical forms, each with the minor release that introduced the form. A rule of the
    restricted standard may replace one of the baseline."""

    name: str
    forms: tuple[tuple[int, Check], ...]
    instead_of: str = ""


# Sorted by name, which is the order of violations in messages.
BASELINE = (
    PodSecurityCheck("appArmorProfile", ((0, app_armor_profile),)),
    PodSecurityCheck("capabilities_baseline", ((0, capabilities_baseline),)),
    PodSecurityCheck("hostNamespaces", ((0, host_namespaces),)),
    PodSecurityCheck("hostPathVolumes", ((0, host_path_volumes),)),
    PodSecurityCheck("hostPorts", ((0, host_ports),)),
    PodSecurityCheck("hostProbesAndHostLifecycle", ((34, host_probes),)),
    PodSecurityCheck("privileged", ((0, privileged),)),
    PodSecurityCheck("procMount", ((0, proc_mount), (35, _unless_own_users(proc_mount)))),
    PodSecurityCheck("seLinuxOptions", ((0, _se_linux(_SELINUX_1_0)), (31, _se_linux(_SELINUX_1_31)))),
    PodSecurityCheck("seccompProfile_baseline", ((0, seccomp_annotations), (19, seccomp_baseline))),
    PodSecurityCheck(
        "sysctls",
        (
            (0, _sysctls(_SYSCTLS_1_0)),
            (27, _sysctls(_SYSCTLS_1_27)),
            (29, _sysctls(_SYSCTLS_1_29)),
            (32, _sysctls(_SYSCTLS_1_32)),
            (37, _sysctls(_SYSCTLS_1_37)),
        ),
    ),
    PodSecurityCheck("windowsHostProcess", ((0, windows_host_process),)),
)
RESTRICTED = (
    PodSecurityCheck(
        "allowPrivilegeEscalation",
        ((8, allow_privilege_escalation), (25, _unless_windows(allow_privilege_escalation))),
    ),
    PodSecurityCheck(
        "capabilities_restricted",
        ((22, capabilities_restricted), (25, _unless_windows(capabilities_restricted))),
        "capabilities_baseline",
    ),
    PodSecurityCheck("procMount_restricted", ((35, proc_mount),), "procMount"),
    PodSecurityCheck("restrictedVolumes", ((0, restricted_volumes),), "hostPathVolumes"),
    PodSecurityCheck("runAsNonRoot", ((0, run_as_non_root), (35, _unless_own_users(run_as_non_root)))),
    PodSecurityCheck("runAsUser", ((23, run_as_user), (35, _unless_own_users(run_as_user)))),
    PodSecurityCheck(
        "seccompProfile_restricted",
        ((19, seccomp_restricted), (25, _unless_windows(seccomp_restricted))),
        "seccompProfile_baseline",
    ),
)
