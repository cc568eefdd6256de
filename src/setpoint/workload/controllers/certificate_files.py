"""Certificates as files for a process: each by its thumbprint, by the link that OpenSSL looks for, and all in one."""

import os
import shutil
from pathlib import Path

from setpoint.objects.tree import Object
from setpoint.store.files import make_directory, write_private
from setpoint.workload.certificates import CertificateError, certificate_files
from setpoint.workload.process.command import StartError

BUNDLE = "cert.pem"


def write_certificates(directory: Path, certificates: Object) -> tuple[str, ...]:
    """Writes what a `pemCertificates` means, in the place of what was there; what was left out. Raises StartError."""
    try:
        found = certificate_files(certificates)
        shutil.rmtree(directory, ignore_errors=True)
        make_directory(directory)
        for name, text in found.files.items():
            write_private(directory / name, text.encode())
        for name, target in found.links.items():
            os.symlink(target, directory / name)
        write_private(directory / BUNDLE, found.bundle.encode())
    except CertificateError as error:
        raise StartError("InvalidCertificate", str(error), "mend it, or set continueOnError") from None
    except OSError as error:
        raise StartError("CertificatesNotWritten", str(error), "see that the directory can be written") from None
    return found.skipped
