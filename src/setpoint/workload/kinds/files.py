"""The files that are written into a container before its start: files, certificates, and layers of its image.

Directories may be nested to any depth; the server validates the first level, and `nested_files` the levels below.
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
    NoDefault,
    Pattern,
    rule,
)
from setpoint.workload.kinds.kind_model import KindModel
from setpoint.workload.kinds.parts import Flag, Name, PemCertificate, Text

# The permissions of a file, without the file type.
FileMode = Annotated[Int64, Minimum(0), Maximum(0o7777)]

_SET = [
    f"self.?{field}.orValue({empty}) != {empty}"
    for field, empty in (("source", "''"), ("contents", "''"), ("rawContents", "b''"))
]


class SecretKey(KindModel):
    """A key of a Secret in the namespace default."""

    name: Name
    """The name of the Secret."""

    key: Name
    """The key in the data of the Secret."""


@rule(
    "self.type == 'directory' || self.?entries.orValue([]).size() == 0",
    message="entries are only allowed for type directory",
    reason="FieldValueForbidden",
    field_path=".entries",
)
@rule(
    f"self.type == 'directory' || ({' ? 1 : 0) + ('.join(_SET)} ? 1 : 0) <= 1",
    message="only one of source, contents and rawContents can be set",
)
@rule(
    f"self.type != 'directory' || !({' || '.join(_SET)})",
    message="a directory has entries, not source, contents or rawContents",
)
class FileSystemEntry(KindModel):
    """A file or directory."""

    type: Literal["file", "openssl", "directory"] = "file"
    """The type of the entry. openssl is a certificate, with an additional link by which OpenSSL finds the
    certificate."""

    name: Annotated[str, MinLength(1), Pattern(r"^([^/.][^/]*|\.[^/.][^/]*|\.\.[^/]+)$")]
    """The name, without a directory."""

    owner: Annotated[Int32, Minimum(0)] | None = None
    """The uid of the owner."""

    group: Annotated[Int32, Minimum(0)] | None = None
    """The gid of the group."""

    mode: Annotated[FileMode, NoDefault()] = 0
    """The permissions; 0 applies the umask."""

    source: Text = ""
    """A file of this machine to copy."""

    target: Text = ""
    """The target of a link."""

    contents: Text = ""
    """The text of the file."""

    raw_contents: Annotated[str, NoDefault(), Format("byte")] = ""
    """The contents of the file, in base64."""

    secret: SecretKey | None = None
    """The key of a Secret with the contents of the file."""

    continue_on_error: Flag = False
    """Starts the container even if this entry cannot be written."""

    entries: list[dict[str, Any]] = []
    """The entries of a directory, with the same fields as this one."""

    def below(self) -> "list[FileSystemEntry]":
        """Returns the entries of a directory. Raises `msgspec.ValidationError` if an entry is invalid."""
        return [type(self).from_json(each) for each in self.entries]


class CreateFileSystem(KindModel):
    """Files to write into a container."""

    destination: Annotated[str, Pattern("^/")] = "/"
    """The directory in the container."""

    default_owner: Annotated[Int32, NoDefault(), Minimum(0)] = 0
    """The default uid of the entries."""

    default_group: Annotated[Int32, NoDefault(), Minimum(0)] = 0
    """The default gid of the entries."""

    umask: FileMode = 0o022
    """The umask for entries without a mode."""

    entries: Annotated[list[FileSystemEntry], MinItems(1), MaxItems(1024)]
    """The files and directories."""


@rule(
    "(self.?source.orValue('') != '') != (self.?rawContents.orValue(b'') != b'')",
    message="a layer needs either source or rawContents",
    reason="FieldValueRequired",
)
@rule(
    "self.?source.orValue('') == '' || self.?sha256.orValue('') != ''",
    message="sha256 is required with source, to verify the file",
    reason="FieldValueRequired",
    field_path=".sha256",
)
@rule(
    "self.?sha256.orValue('') == '' || self.?source.orValue('') != ''",
    message="sha256 is only allowed with source",
    reason="FieldValueForbidden",
    field_path=".sha256",
)
class ImageLayer(KindModel):
    """A tar archive that is added to the image as a layer."""

    digest: Annotated[str, MinLength(1)]
    """The digest that identifies the layer."""

    source: Text = ""
    """The archive, a file of this machine."""

    sha256: Annotated[str, NoDefault(), Pattern("^((?i:sha256:)?[0-9a-fA-F]{64})?$")] = ""
    """The checksum of that file."""

    raw_contents: Annotated[str, NoDefault(), Format("byte")] = ""
    """The archive itself, in base64."""


class ContainerPemCertificates(KindModel):
    """Certificates to write into a container."""

    certificates: Annotated[list[PemCertificate], MinItems(1)]
    """The certificates."""

    destination: Annotated[str, Pattern("^/")]
    """The directory in the container."""

    overwrite_bundle_paths: list[Annotated[str, Pattern("^/")]] = []
    """Files in the container that are replaced by a bundle of these certificates."""

    continue_on_error: Flag = False
    """Skips invalid certificates; otherwise the container does not start."""
