"""The names of the system controllers, as in kube-controller-manager."""

from collections.abc import Collection

GARBAGE_COLLECTOR = "garbage-collector-controller"
NAMESPACE = "namespace-controller"
SERVICE_ACCOUNT = "serviceaccount-controller"
SERVICE_ACCOUNT_TOKEN = "serviceaccount-token-controller"
ROOT_CA = "root-ca-certificate-publisher-controller"
CLAIM_PROTECTION = "persistentvolumeclaim-protection-controller"
VOLUME_PROTECTION = "persistentvolume-protection-controller"
POD_GARBAGE_COLLECTOR = "pod-garbage-collector-controller"
QUOTA = "resourcequota-controller"
FINISHED_JOBS = "ttl-after-finished-controller"
CERTIFICATE_SIGNING = "certificatesigningrequest-signing-controller"
NAMES = (
    GARBAGE_COLLECTOR,
    NAMESPACE,
    SERVICE_ACCOUNT,
    SERVICE_ACCOUNT_TOKEN,
    ROOT_CA,
    CLAIM_PROTECTION,
    VOLUME_PROTECTION,
    POD_GARBAGE_COLLECTOR,
    QUOTA,
    FINISHED_JOBS,
    CERTIFICATE_SIGNING,
)
# The controllers whose work is part of the server, unless excluded.
ROLE_AGGREGATION = "clusterrole-aggregation-controller"
POLICY_STATUS = "validatingadmissionpolicy-status-controller"
SERVER_NAMES = (ROLE_AGGREGATION, POLICY_STATUS)


def chosen(names: bool | Collection[str]) -> frozenset[str]:
    """Returns the selected controllers: `*` stands for all, `-name` excludes one, and `-*` alone selects none. A name
    may be a list with commas, as in kube-controller-manager. Raises ValueError for an unknown name."""
    if isinstance(names, bool):
        return frozenset(NAMES if names else ())
    names = _split(names)
    for name in names:
        if name.removeprefix("-") not in ("*", *NAMES, *SERVER_NAMES):
            known = ", ".join((*NAMES, *SERVER_NAMES))
            raise ValueError(f"unknown system controller {name!r}: expected one of {known}")
    return frozenset(name for name in NAMES if (name in names or "*" in names) and f"-{name}" not in names)


def excluded_from_server(names: Collection[str]) -> frozenset[str]:
    """Returns the controllers with work in the server that are left to kube-controller-manager: excluded by `-name`, or
    by `-*` and not named."""
    names = _split(names)
    own = (*SERVER_NAMES, QUOTA)
    return frozenset(name for name in own if f"-{name}" in names or ("-*" in names and name not in names))


def _split(names: Collection[str]) -> list[str]:
    return [name.strip() for each in names for name in each.split(",")]
