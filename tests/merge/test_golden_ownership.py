"""The recorded answers of a real API server, as far as field ownership decides them (see `ownership`)."""

import pytest
import yaml
from tests.merge.ownership import SCENARIOS, Replay

# How many answers each area must at least have compared: a replay that compares nothing would prove nothing.
AREAS = {"ssa": 181, "patch": 44, "crd": 49, "cel": 5, "crud": 133, "errors": 25, "lifecycle": 32}

# What the recording shows and a replay of the writes alone cannot come to.
BEYOND = {
    "crd-create-minimal": "the server itself writes the status of a CRD",
    "crud-dropped-fields": "the server drops fields of features that are off",
    "crd-empty-managers": "an empty list that the server reads as none",
    "ssa-empty-list-of-immutable": "an absent list that the server writes as null",
    "crud-unusual-names": "an empty list that the server reads as none",
    "crud-put-create": "an empty list that the server reads as none",
    "crud-put-create-system-fields": "a creation by an update owns fields that are not stored",
    "err-metadata-of-updates": "an empty list that the server reads as none",
    "crud-address-generate-name": "the server generates the name",
    "crud-autoscaler-annotations": "autoscalers are converted between versions",
    "crud-autoscaler-status-annotations": "autoscalers are converted between versions",
    "crud-duplicate-keys": "the server merges duplicate keys",
    "crud-service-from-status": "the server creates a Service without addresses",
    "crud-job-scheduling": "the server drops fields of features that are off",
    "err-second-volume-type": "the server drops fields of features that are off",
    "crud-dropped-and-defaulted": "the server drops fields of features that are off",
    "crud-pod-disabled-features": "the server drops fields of features that are off",
    "ssa-empty-list-in-atomic-list": "an empty list that the server reads as none",
    "ssa-fraction-in-atomic-list": "the server drops fractions of seconds",
    "crud-eviction-responders": "the server drops fields of features that are off",
    "err-event-order": "a review is not stored",
    "err-node-ranges": "admission adds a taint",
    "err-pod-status": "the server drops fields of features that are off",
    "err-pod-subresource-metadata": "the server drops fields of features that are off",
    "ssa-conversion": "the server cuts numbers of too many bits",
    "crud-service-types": "the server allocates and releases addresses and ports",
    "crud-scale-hpa-v1-v2": "autoscalers are converted between versions",
    "life-finalizers-deletiontimestamp-cleared": "the write is not what was stored",
    "ssa-multi-version-hpa": "autoscalers are converted between versions",
    "crud-hpa-average": "autoscalers are converted between versions",
    "ssa-event-groups": "the groups of Events do not know the managers of each other",
    "ssa-cr-malformed-metadata": "the server replaces malformed fields that it writes itself",
    "crd-status-unknown-version": "the server keeps the managers of another version",
    "crd-status-other-kind": "the server keeps the managers of another kind",
}


@pytest.mark.parametrize("area", AREAS)
def test_ownership_comes_out_as_the_real_server_recorded_it(area: str) -> None:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    compared, failures = 0, []
    for path in sorted((SCENARIOS / area).glob("*.yaml")):
        text = path.read_text()
        if "managedFields" not in text and "Apply failed" not in text and area != "ssa":
            continue
        replay = Replay()
        try:
            replay.run(yaml.load(text, Loader=loader)["steps"])
        except AssertionError as error:
            failures.append((path.stem, str(error)[:500], error.__notes__))
        compared += replay.compared
    assert [failure for failure in failures if failure[0] not in BEYOND] == []
    assert compared >= AREAS[area]
