"""What is written into a container before it starts: files, certificates, layers of its image.

Directories may be nested to any depth; the server checks the first level, and `nested_files` what lies below.
"""

from typing import Annotated, Any, Literal

from setpoint.schema.types import (
    Format,
    Int32,
    Int64,
    Maximum,
    MaxItems,
    Minimum,
    MinItems,
    MinLength,
    Model,
    NoDefault,
    Pattern,
    rule,
)
from setpoint.workload.kinds.parts import Flag, PemCertificate, Text

# What a file can be allowed, without the bits that say what it is.
FileMode = Annotated[Int64, Minimum(0), Maximum(0o7777)]

_SET = [
    f"self.?{field}.orValue({empty}) != {empty}"
    for field, empty in (("source", "''"), ("contents", "''"), ("rawContents", "b''"))
]


@rule(
    "self.type == 'directory' || self.?entries.orValue([]).size() == 0",
    message="entries are for type directory",
    reason="FieldValueForbidden",
    field_path=".entries",
)
@rule(
    f"self.type == 'directory' || ({' ? 1 : 0) + ('.join(_SET)} ? 1 : 0) <= 1",
    message="only one of source, contents and rawContents can be set: each is all of the file",
)
@rule(
    f"self.type != 'directory' || !({' || '.join(_SET)})",
    message="a directory has entries, not source, contents or rawContents",
)
class FileSystemEntry(Model):
    """A file or directory."""

    type: Literal["file", "openssl", "directory"] = "file"
    """What it is. openssl is a certificate, which also gets the link by which OpenSSL finds it."""

    name: Annotated[str, MinLength(1), Pattern(r"^([^/.][^/]*|\.[^/.][^/]*|\.\.[^/]+)$")]
    """Its name, without any directory."""

    owner: Annotated[Int32, Minimum(0)] | None = None
    """The number of the user it belongs to."""

    group: Annotated[Int32, Minimum(0)] | None = None
    """The number of the group it belongs to."""

    mode: Annotated[FileMode, NoDefault()] = 0
    """Its permissions; 0 follows from the umask."""

    source: Text = ""
    """A file of this machine to copy."""

    target: Text = ""
    """Where a link leads to."""

    contents: Text = ""
    """The text of the file."""

    raw_contents: Annotated[str, NoDefault(), Format("byte")] = ""
    """The bytes of the file, in base64."""

    continue_on_error: Flag = False
    """Whether the container starts all the same when this cannot be written."""

    entries: list[dict[str, Any]] = []
    """What a directory contains: entries like this one."""

    def below(self) -> "list[FileSystemEntry]":
        """The entries of a directory. Raises `msgspec.ValidationError` where one of them is none."""
        return [type(self).from_json(each) for each in self.entries]


class CreateFileSystem(Model):
    """Files to write into a container."""

    destination: Annotated[str, Pattern("^/")] = "/"
    """The directory in the container."""

    default_owner: Annotated[Int32, NoDefault(), Minimum(0)] = 0
    """The number of the user they belong to, where an entry does not say."""

    default_group: Annotated[Int32, NoDefault(), Minimum(0)] = 0
    """The number of the group they belong to, where an entry does not say."""

    umask: FileMode = 0o022
    """The permissions they do not get, where an entry does not say."""

    entries: Annotated[list[FileSystemEntry], MinItems(1), MaxItems(1024)]
    """The files and directories."""


@rule(
    "(self.?source.orValue('') != '') != (self.?rawContents.orValue(b'') != b'')",
    message="a layer needs either source or rawContents",
    reason="FieldValueRequired",
)
@rule(
    "self.?source.orValue('') == '' || self.?sha256.orValue('') != ''",
    message="sha256 is required with source, to know that the file is the wanted one",
    reason="FieldValueRequired",
    field_path=".sha256",
)
@rule(
    "self.?sha256.orValue('') == '' || self.?source.orValue('') != ''",
    message="sha256 is for layers with a source",
    reason="FieldValueForbidden",
    field_path=".sha256",
)
class ImageLayer(Model):
    """A tar archive that becomes a layer on top of the image."""

    digest: Annotated[str, MinLength(1)]
    """What tells one layer from another."""

    source: Text = ""
    """The archive, a file of this machine."""

    sha256: Annotated[str, NoDefault(), Pattern("^((?i:sha256:)?[0-9a-fA-F]{64})?$")] = ""
    """The checksum of that file."""

    raw_contents: Annotated[str, NoDefault(), Format("byte")] = ""
    """The archive itself, in base64."""


class ContainerPemCertificates(Model):
    """Certificates to write into a container."""

    certificates: Annotated[list[PemCertificate], MinItems(1)]
    """The certificates."""

    destination: Annotated[str, Pattern("^/")]
    """The directory in the container."""

    overwrite_bundle_paths: list[Annotated[str, Pattern("^/")]] = []
    """Files in the container that are replaced by all of these certificates."""

    continue_on_error: Flag = False
    """Whether a certificate that cannot be read is left out; otherwise the container does not start."""
