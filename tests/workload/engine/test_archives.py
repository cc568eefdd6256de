"""Files for containers: archives with owners, modes and links, certificates that OpenSSL finds, layers, contexts."""

import base64
import hashlib
import io
import subprocess
import tarfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests import debian

from setpoint.workload.certificates import CertificateError, certificate_files, subject_hash
from setpoint.workload.engine.archive import Archive, ArchiveError, certificates_archive, files_archive
from setpoint.workload.engine.build_context import ContextError, open_context
from setpoint.workload.engine.layers import LayerError, layered_name, layers_archive

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def certificate(names: Sequence[Sequence[x509.NameAttribute[str]]]) -> str:
    """A certificate of that subject."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.RelativeDistinguishedName(each) for each in names])
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), 7, NOW, NOW + timedelta(days=9))
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def named(text: str) -> str:
    return certificate([[x509.NameAttribute(NameOID.COMMON_NAME, text)]])


def members(archive: bytes) -> dict[str, tuple[Any, ...]]:
    """What an archive holds: by name, the bytes or where a link leads, mode, owner and group."""
    found: dict[str, tuple[Any, ...]] = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        for each in opened:
            read = opened.extractfile(each) if each.isreg() else None
            held: Any = read.read() if read is not None else each.linkname or None
            found[each.name] = (held, each.mode, each.uid, each.gid)
    return found


def test_files_have_the_owner_group_and_mode_that_they_or_those_above_say() -> None:
    made = files_archive(
        {
            "destination": "/etc/app",
            "defaultOwner": 5,
            "defaultGroup": 6,
            "umask": 0o077,
            "entries": [
                {"name": "a", "contents": "text"},
                {"name": "b", "rawContents": base64.b64encode(b"\0\1").decode(), "mode": 0o755, "owner": 0},
                {"name": "d", "type": "directory", "group": 9, "entries": [{"name": "c", "contents": "deep"}]},
                {"name": "l", "type": "symlink", "target": "./a"},
                {"name": "empty"},
            ],
        },
        modified=NOW,
    )
    assert members(made.data) == {
        "etc/app/a": (b"text", 0o600, 5, 6),
        "etc/app/b": (b"\0\1", 0o755, 0, 6),
        "etc/app/d": (None, 0o700, 5, 9),
        "etc/app/d/c": (b"deep", 0o600, 5, 9),
        "etc/app/l": ("./a", 0o777, 5, 6),
        "etc/app/empty": (b"", 0o600, 5, 6),
    }
    assert made.skipped == ()


def test_an_archive_ends_after_two_empty_blocks() -> None:
    made = files_archive({"destination": "/etc", "entries": [{"name": "a", "contents": "text"}]}, modified=NOW).data
    assert len(made) == 4 * tarfile.BLOCKSIZE
    assert made.endswith(bytes(2 * tarfile.BLOCKSIZE))
    assert list(members(made)) == ["etc/a"]


def test_the_usual_modes_are_those_of_the_usual_umask() -> None:
    made = files_archive({"entries": [{"name": "a"}, {"name": "d", "type": "directory"}]}, modified=NOW)
    assert {name: each[1] for name, each in members(made.data).items()} == {"a": 0o644, "d": 0o755}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"name": "a", "source": "/no/such/file"}, r"entries\[0\]\.source: /no/such/file cannot be read"),
        ({"name": "a", "rawContents": "%"}, r"entries\[0\]\.rawContents: not valid base64"),
        ({"name": "../a"}, r"entries\[0\]\.name: '\.\./a' must be a file name"),
        ({"name": "a", "type": "openssl", "contents": "x"}, r"entries\[0\]: not a certificate in PEM format"),
        ({"name": "d", "type": "directory", "entries": [{"name": "/"}]}, r"entries\[0\]\.entries\[0\]\.name"),
        ({"name": "a", "type": "pipe"}, r"entries\[0\]\.type: unsupported value 'pipe'"),
    ],
)
def test_what_cannot_be_written_is_named(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        files_archive({"entries": [entry]}, modified=NOW)


def test_what_may_be_left_out_is_left_out_and_told() -> None:
    entries = [{"name": "a", "source": "/no/such/file", "continueOnError": True}, {"name": "b", "contents": "x"}]
    made = files_archive({"entries": entries}, modified=NOW)
    assert list(members(made.data)) == ["b"]
    assert made.skipped == ("createFiles.entries[0].source: /no/such/file cannot be read: No such file or directory",)


def test_a_file_of_this_machine_keeps_its_time(tmp_path: Path) -> None:
    source = tmp_path / "x"
    source.write_bytes(b"here")
    made = files_archive({"entries": [{"name": "a", "source": str(source)}]}, modified=NOW)
    with tarfile.open(fileobj=io.BytesIO(made.data)) as archive:
        assert archive.getmember("a").mtime == int(source.stat().st_mtime)


def test_certificates_get_links_by_their_subjects_numbered_where_those_are_the_same() -> None:
    first, second = named("One"), named("one")
    entries = [{"name": f"{i}.pem", "type": "openssl", "contents": each} for i, each in enumerate((first, second))]
    made = files_archive({"destination": "/certs", "entries": entries}, modified=NOW)
    key = subject_hash(first)
    assert {name: each[0] for name, each in members(made.data).items() if isinstance(each[0], str)} == {
        f"certs/{key}.0": "0.pem",
        f"certs/{key}.1": "1.pem",
    }


def test_the_certificates_of_a_container_are_a_bundle_and_a_directory_and_replace_other_bundles() -> None:
    one, two = named("one"), named("two")
    made: Archive = certificates_archive(
        {
            "destination": "/usr/ssl",
            "overwriteBundlePaths": ["/etc/bundle.crt"],
            "certificates": [
                {"thumbprint": "AA", "contents": one},
                {"thumbprint": "BAD", "contents": "nothing"},
                {"thumbprint": "BB", "contents": two},
            ],
            "continueOnError": True,
        },
        modified=NOW,
    )
    held = {name: each[0] for name, each in members(made.data).items()}
    assert held == {
        "usr/ssl/cert.pem": f"{one}\n{two}".encode(),
        "usr/ssl/certs/AA.pem": one.encode(),
        "usr/ssl/certs/BB.pem": two.encode(),
        f"usr/ssl/certs/{subject_hash(one)}.0": "AA.pem",
        f"usr/ssl/certs/{subject_hash(two)}.0": "BB.pem",
        "etc/bundle.crt": f"{one}\n{two}".encode(),
    }
    assert made.skipped[0].startswith("pemCertificates.certificates[1]: not a certificate")
    with pytest.raises(CertificateError, match=r"pemCertificates.certificates\[0\]"):
        certificate_files({"certificates": [{"thumbprint": "BAD", "contents": "nothing"}]})


_TEXT = x509.name._ASN1Type
SUBJECTS = {
    "plain": [[x509.NameAttribute(NameOID.COMMON_NAME, "localhost")]],
    "printable": [[x509.NameAttribute(NameOID.COUNTRY_NAME, "DE", _type=_TEXT.PrintableString)]],
    "blanks and capitals": [[x509.NameAttribute(NameOID.COMMON_NAME, "  My   Own\tCA ")]],
    "not ascii": [[x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Größe ÄÖÜ Straße")]],
    "wide": [[x509.NameAttribute(NameOID.COMMON_NAME, "Wide Ω", _type=_TEXT.BMPString)]],
    "mail": [[x509.NameAttribute(NameOID.EMAIL_ADDRESS, "Me@Example.Com", _type=_TEXT.IA5String)]],
    "several": [
        [x509.NameAttribute(NameOID.COUNTRY_NAME, "US")],
        [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "A Long Organisation " * 3)],
        [x509.NameAttribute(NameOID.COMMON_NAME, "b")],
    ],
    "two in one": [
        [x509.NameAttribute(NameOID.COMMON_NAME, "z"), x509.NameAttribute(NameOID.ORGANIZATION_NAME, "a")],
    ],
    "long": [[x509.NameAttribute(NameOID.STREET_ADDRESS, "x" * 300)]],
    "empty": [],
}


@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
def test_the_hash_of_a_subject_is_openssls(subject: list[list[x509.NameAttribute[str]]]) -> None:
    pem = certificate(subject)
    openssl = debian.require("openssl", "openssl")
    said = subprocess.run([openssl, "x509", "-hash", "-noout"], input=pem, capture_output=True, text=True, check=True)
    assert subject_hash(pem) == said.stdout.strip()


def test_layers_are_added_in_order_and_named_by_what_they_are(tmp_path: Path) -> None:
    tar = tmp_path / "layer.tar"
    tar.write_bytes(b"a tar")
    layers = [
        {"digest": "one", "source": str(tar), "sha256": "SHA256:" + hashlib.sha256(b"a tar").hexdigest().upper()},
        {"digest": "two", "rawContents": base64.b64encode(b"another").decode()},
    ]
    held = {name: each[0] for name, each in members(layers_archive("reg:5000/web:1", layers)).items()}
    assert held == {
        "layer0.tar": b"a tar",
        "layer1.tar": b"another",
        "Dockerfile": b"FROM reg:5000/web:1\nADD layer0.tar /\nADD layer1.tar /\n",
    }
    name = layered_name("reg:5000/web:1", "sha256:1", layers)
    assert name.startswith("reg:5000/web:setpoint-")
    others = [("reg:5000/web:1", "sha256:2", layers), ("reg:5000/web:1", "sha256:1", layers[:1])]
    assert name not in [layered_name(*each) for each in others]


def test_a_layer_that_is_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"changed")
    layer = {"digest": "one", "source": str(tmp_path / "x"), "sha256": "0" * 64}
    with pytest.raises(LayerError, match=r"imageLayers\[0\]\.sha256: .*, expected 0000"):
        layers_archive("a", [layer])


async def context_of(directory: Path, dockerfile: str = "") -> tuple[str, dict[str, tuple[Any, ...]]]:
    opened = open_context(str(directory), dockerfile)
    return opened.dockerfile, members(b"".join([piece async for piece in opened.pieces()]))


async def test_a_context_holds_what_is_not_ignored_and_always_what_says_how_to_build(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.py").write_text("code")
    (tmp_path / "src" / "main.pyc").write_text("bytes")
    (tmp_path / "Dockerfile").write_text("FROM scratch")
    (tmp_path / ".dockerignore").write_text("**/*.pyc\nDockerfile\n.dockerignore\nsecret\n!secret/kept\n")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("no")
    (tmp_path / "secret" / "kept").write_text("yes")
    (tmp_path / "link").symlink_to("src/main.py")
    dockerfile, held = await context_of(tmp_path)
    assert dockerfile == "Dockerfile"
    assert sorted(held) == [".dockerignore", "Dockerfile", "link", "secret/kept", "src", "src/main.py"]
    assert held["link"][0] == "src/main.py"
    assert held["src/main.py"][0] == b"code"
    assert {each[2:] for each in held.values()} == {(0, 0)}


async def test_a_dockerfile_may_lie_elsewhere_and_have_a_dockerignore_of_its_own(tmp_path: Path) -> None:
    app, outside = tmp_path / "app", tmp_path / "build" / "web.Dockerfile"
    app.mkdir()
    outside.parent.mkdir()
    outside.write_text("FROM web")
    outside.with_name("web.Dockerfile.dockerignore").write_text("a")
    (app / "a").touch()
    (app / "b").touch()
    (app / ".dockerignore").write_text("b")
    (app / "Containerfile").touch()
    dockerfile, held = await context_of(app, str(outside))
    assert held[dockerfile][0] == b"FROM web"
    assert sorted(set(held) - {dockerfile}) == [".dockerignore", "Containerfile", "b"]
    assert (await context_of(app))[0] == "Containerfile"


async def test_large_and_many_files_arrive_whole(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").touch()
    (tmp_path / "large").write_bytes(bytes(range(256)) * 20_000)
    for number in range(300):
        (tmp_path / f"{number:03} {'x' * 120}").write_text(str(number))
    _, held = await context_of(tmp_path)
    assert held["large"][0] == bytes(range(256)) * 20_000
    assert len(held) == 302
    assert held[f"007 {'x' * 120}"][0] == b"7"


def test_a_context_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ContextError, match=r"build.context: directory .*nowhere does not exist"):
        open_context(str(tmp_path / "nowhere"))
    with pytest.raises(ContextError, match=r"build.dockerfile: no Dockerfile in"):
        open_context(str(tmp_path))
    with pytest.raises(ContextError, match=r"build.dockerfile: other\S* not found in"):
        open_context(str(tmp_path), "other")
