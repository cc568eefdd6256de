"""Certificates as files for a process: each by its thumbprint, by the link that OpenSSL looks for, and all in one."""

import os
import shutil
from pathlib import Path

from setpoint.objects.tree import Object
from setpoint.workload.certificates import CertificateError, certificate_files
from setpoint.workload.process.command import StartError

BUNDLE = "cert.pem"


def write_certificates(directory: Path, certificates: Object) -> tuple[str, ...]:
    """Writes what a `pemCertificates` means, in the place of what was there; what was left out. Raises StartError."""
    try:
        found = certificate_files(certificates)
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(mode=0o700, parents=True)
        for name, text in found.files.items():
            (directory / name).write_text(text)
        for name, target in found.links.items():
            os.symlink(target, directory / name)
        (directory / BUNDLE).write_text(found.bundle)
    except CertificateError as error:
        raise StartError("InvalidCertificate", str(error), "mend it, or set continueOnError") from None
    except OSError as error:
        raise StartError("CertificatesNotWritten", str(error), "see that the directory can be written") from None
    return found.skipped
