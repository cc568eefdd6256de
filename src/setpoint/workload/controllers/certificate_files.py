"""Writes certificates as files for a process: each by its thumbprint, with the link that OpenSSL expects, in one
directory, and all in a bundle beside that directory, as DCP does."""

import os
import shutil
from pathlib import Path

from setpoint.objects.tree import Object
from setpoint.store.files import make_directory, write_private
from setpoint.workload.certificates import CertificateError, certificate_files
from setpoint.workload.process.command import StartError

BUNDLE = "cert.pem"


def write_certificates(directory: Path, certificates: Object) -> tuple[str, ...]:
    """Writes the files of a `pemCertificates` and replaces the files in the directory; the bundle is in the parent
    directory. Returns the errors of skipped certificates. Raises StartError."""
    try:
        found = certificate_files(certificates)
        shutil.rmtree(directory, ignore_errors=True)
        make_directory(directory)
        for name, text in found.files.items():
            write_private(directory / name, text.encode())
        for name, target in found.links.items():
            os.symlink(target, directory / name)
        write_private(directory.parent / BUNDLE, found.bundle.encode())
    except CertificateError as error:
        raise StartError("InvalidCertificate", str(error), "correct the certificate, or set continueOnError") from None
    except OSError as error:
        raise StartError("CertificatesNotWritten", str(error), "check that the directory is writable") from None
    return found.skipped
