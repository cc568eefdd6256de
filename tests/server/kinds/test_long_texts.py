"""Long, malformed texts are answered as short ones, in time linear in their length."""

import json

from tests.cpu_limit import in_child, is_over_limit


def test_thousands_of_markers_and_long_names_are_answered_as_one() -> None:
    done = in_child("tests.server.kinds.long_texts")
    lines = done.stdout.splitlines()
    assert not is_over_limit(done), f"{lines[-1]}: took more than the processor time allowed"
    assert done.returncode == 0, done.stderr
    cases, answers = lines[::2], [json.loads(line) for line in lines[1::2]]
    found = dict(zip(cases, answers, strict=True))
    assert len(found) == 42
    for case, (one, many) in found.items():
        assert one == many, case
    for kind in ("APIService", "ValidatingWebhookConfiguration", "CustomResourceDefinition", "Secret"):
        assert found[f"{kind}, certificates"][1] == [201, ""]
    for case in ("CertificateSigningRequest, different labels", "Pod, 60 letters", "Pod, 500000 letters"):
        assert found[case][1][0] == 422, case
