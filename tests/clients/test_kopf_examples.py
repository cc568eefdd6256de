"""All examples of kopf's source distribution run unmodified, in virtual time, on a server of the test."""

import re
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from functools import partial
from ipaddress import ip_address
from typing import Any

import pytest
from tests.clients.kopf_source import kopf_source

from setpoint.client.patches import merge
from setpoint.objects.errors import APIError
from setpoint.testing import LocalServer
from setpoint.testing.kopf import KopfOperator

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    # The examples print, leave clients open, and use what newer versions of Python deprecate.
    pytest.mark.filterwarnings("ignore"),
]

KIND = "kopf.dev/v1/KopfExample"
NAME = "kopf-example-1"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "some-pod", "namespace": "default", "labels": {"app": "some"}},
    "spec": {"containers": [{"name": "one", "image": "busybox"}]},
}
Start = Callable[..., KopfOperator]


class Example:
    """One example with its server, and the operator once it runs."""

    def __init__(self, server: LocalServer, start: Start) -> None:
        self.server, self._start = server, start
        self.source = kopf_source()
        server.apply(self.source / "examples" / "crd.yaml")

    def run(self, name: str, **options: Any) -> "Example":
        self.operator = self._start(self.source / "examples" / name / "example.py", patience=60.0, **options)
        return self

    def create(self) -> None:
        self.server.apply(self.source / "examples" / "obj.yaml")

    def delete(self) -> None:
        self.server.client.delete(KIND, NAME)
        self.operator.eventually(lambda: not self.server.client.list(KIND).items, within=300)

    def status(self) -> Any:
        return self.server.client.get(KIND, NAME).get("status", {})

    def logged(self, *texts: str) -> None:
        """Waits until the log has a line with each text."""
        for text in texts:
            self.operator.eventually(partial(self.count, text), within=300)

    def count(self, text: str) -> int:
        return sum(text in line for line in self.operator.log)


@pytest.fixture
def example(setpoint_server: LocalServer, kopf_operator: Start) -> Example:
    return Example(setpoint_server, kopf_operator)


def test_01_minimal(example: Example) -> None:
    example.run("01-minimal").create()
    example.operator.eventually(lambda: example.status().get("create_fn") == {"message": "hello world"})
    example.delete()


def test_02_children(example: Example) -> None:
    example.run("02-children").create()
    [uid] = example.operator.eventually(lambda: example.status().get("create_fn", {}).get("children"))
    [pod] = example.server.client.list("v1/Pod").items
    assert pod["metadata"]["uid"] == uid
    assert pod["metadata"]["ownerReferences"][0]["name"] == NAME
    example.delete()
    example.operator.eventually(lambda: not example.server.client.list("v1/Pod").items)


def test_03_exceptions(example: Example) -> None:
    example.run("03-exceptions").create()
    example.logged("Creation is processed: 1 succeeded; 3 failed.")
    assert example.count("'eventual_success_with_a_few_messages' succeeded") == 1
    assert example.count("'eventual_success_with_a_few_messages' failed temporarily") == 3
    assert example.count("'eventual_failure_with_tracebacks' failed with an exception") == 3
    example.delete()


def test_04_events(example: Example) -> None:
    example.run("04-events").create()

    def events() -> set[tuple[str, str]]:
        found = example.server.client.list("v1/Event").items
        return {(event["type"], event["message"]) for event in found if event["reason"] == "SomeReason"}

    wanted = {("SomeType", "Some message"), ("Normal", "Some message"), ("Warning", "Some message")}
    example.operator.eventually(lambda: wanted <= events())
    example.operator.eventually(lambda: any("Exception text." in message for _, message in events()))
    example.delete()


def test_05_handlers(example: Example) -> None:
    example.run("05-handlers").create()
    example.logged("Creation is processed: 3 succeeded; 0 failed.")
    example.server.client.edit(KIND, NAME, "default", lambda found: found["spec"].update(field="changed"))
    example.logged("'update_fn' succeeded", "'field_fn/spec.field' succeeded")
    example.delete()
    assert example.count("'delete_fn_1' succeeded") == example.count("'delete_fn_2' succeeded") == 1


def test_06_peering(example: Example, kopf_operator: Start) -> None:
    example.server.apply(example.source / "peering.yaml")
    example.server.apply({"apiVersion": "kopf.dev/v1", "kind": "ClusterKopfPeering", "metadata": {"name": "example"}})
    path = example.source / "examples" / "06-peering" / "example.py"
    low = kopf_operator(path, peering_name="example", priority=1, identity="low", patience=60.0)
    high = kopf_operator(path, peering_name="example", priority=100, identity="high", patience=60.0)
    low.eventually(lambda: any("Pausing operations in favour of" in line for line in low.log))
    example.create()
    high.eventually(lambda: any("'create_fn' succeeded" in line for line in high.log))
    assert not any("'create_fn' succeeded" in line for line in low.log)


def test_07_subhandlers(example: Example) -> None:
    example.run("07-subhandlers").create()
    example.logged("'create_fn/item1' succeeded", "'create_fn/item2' succeeded", "Creation is processed: 1 succeeded")
    example.delete()


def test_08_events(example: Example) -> None:
    example.run("08-events").create()
    example.logged("'normal_event_fn' succeeded", "'event_fn_with_error' failed with an exception")
    example.delete()


def test_09_testing(example: Example) -> None:
    example.run("09-testing").create()
    example.logged(f"[default/{NAME}] Something was logged here.")
    example.delete()


def test_10_builtins(example: Example) -> None:
    example.run("10-builtins")
    example.server.apply(POD)
    example.logged("=== Pod killing happens in 30s.")
    begin = example.operator.time
    example.logged("=== Pod killing happens NOW!")
    assert example.operator.time - begin >= 20
    example.operator.eventually(lambda: not example.server.client.list("v1/Pod").items)


def test_11_filtering_handlers(example: Example) -> None:
    example.run("11-filtering-handlers").create()
    example.logged("Label is matching.", "Label is present.", "Label is absent.", "Label callback matching.")
    example.logged("Annotation is matching.", "Annotation is present.", "Annotation is absent.")
    example.logged("Filter satisfied.", "Field value is satisfied.", "Field presence is satisfied.")
    example.logged("Field daemon is satisfied.", "Creation is processed: 10 succeeded; 0 failed.")
    example.server.client.edit(KIND, NAME, "default", lambda found: found["spec"].update(field="changed"))
    example.logged("Field change is satisfied.")
    example.delete()
    for text in ("Annotation callback mismatch", "Filter not satisfied", "is not satisfied"):
        assert example.count(text) == 0


def test_12_embedded(example: Example, capfd: pytest.CaptureFixture[str]) -> None:
    import kopf

    memo = kopf.Memo(create_tpl="Hello, {name}!", delete_tpl="Good bye, {name}!")
    example.run("12-embedded", memo=memo).create()
    example.logged("'create_fn' succeeded")
    example.delete()
    printed = capfd.readouterr().out
    assert f"Hello, {NAME}!" in printed
    assert f"Good bye, {NAME}!" in printed


def test_13_hooks(example: Example) -> None:
    example.server.apply(POD)
    example.run("13-hooks")
    assert example.count("'startup_fn_retried' failed temporarily") == 3
    example.logged("'login_fn' succeeded", "Served by the background task.")


def test_14_daemons(example: Example) -> None:
    example.run("14-daemons").create()
    example.logged("=> Ping from a sync daemon", "=> Ping from an async daemon")
    example.delete()
    assert example.count("'background_async' is cancelled") + example.count("'background_async' has exited") >= 1


def test_15_timers(example: Example) -> None:
    example.run("15-timers").create()
    example.operator.eventually(lambda: example.count("Ping from a sync timer") >= 5, within=300)
    example.operator.eventually(lambda: example.count("Ping from an async timer") >= 5, within=300)
    example.delete()


def test_16_indexing(example: Example) -> None:
    example.server.apply(POD)
    example.server.client.patch_status("v1/Pod", merge({"status": {"phase": "Running"}}), "some-pod")
    example.run("16-indexing").create()
    example.operator.eventually(lambda: example.status().get("running-pods") == ["default::some-pod"])
    example.delete()


def test_17_admission(example: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    # kopf creates and reads certificates with libraries on oscrypto 1.3.0, which rejects current versions of OpenSSL.
    monkeypatch.setattr("kopf.WebhookServer.build_certificate", staticmethod(_self_signed))
    monkeypatch.setattr("kopf._kits.webhooks.ClusterDetector.guess_host", _no_known_cluster)
    example.run("17-admission")

    def is_refused() -> bool:
        wrong = {"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "metadata": {"name": "wrong"}}
        try:
            example.server.client.create({**wrong, "spec": {"field": "wrong"}})
        except APIError as error:
            return "Meh! I don't like it." in error.message
        example.server.client.delete(KIND, "wrong")
        return False

    example.operator.eventually(is_refused)
    example.create()
    assert example.server.client.get(KIND, NAME)["spec"]["field"] == "value"


def test_99_all_at_once(example: Example) -> None:
    example.run("99-all-at-once").create()
    example.logged("Creation is processed: 3 succeeded; 0 failed.", "This pod is special for us.")
    example.delete()
    for name in ("create_1", "create_2", "create_pod", "delete", "startup_fn_simple", "startup_fn_retried"):
        assert example.count(f"'{name}' succeeded") == 1, name


def test_every_example_has_a_test() -> None:
    names = {path.parent.name for path in (kopf_source() / "examples").glob("*/example.py")}
    tested = {name.removeprefix("test_").replace("_", "-") for name in globals() if name.startswith("test_")}
    assert names <= tested


async def _no_known_cluster(*_: object, **__: object) -> None:
    """Recognizes none of k3s, k3d and minikube."""


def _self_signed(hostnames: Collection[str], password: str | None = None) -> tuple[bytes, bytes]:
    """Returns a certificate that is its own authority, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "webhook")])
    names = [
        x509.IPAddress(ip_address(host)) if re.fullmatch(r"[\d.]+|.*:.*", host) else x509.DNSName(host)
        for host in hostnames
    ]
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    unencrypted = serialization.NoEncryption()
    return made.public_bytes(pem), key.private_bytes(pem, serialization.PrivateFormat.PKCS8, unencrypted)
