"""`setpoint envtest-assets`: writes the binaries that tests of Go operators start instead of a real control plane."""

from pathlib import Path

import click

from setpoint.cli.output.terminal import echo
from setpoint.cli.support.errors import Failure


@click.command("envtest-assets")
@click.argument("directory", metavar="DIR")
def envtest_assets(directory: str) -> None:
    """Write kube-apiserver, etcd and kubectl into DIR, for controller-runtime's envtest.

    The programs accept the flags of the originals and run this installation of Setpoint; kubectl is the one on the
    PATH. Prints the directory. Run the tests of a Go operator on Setpoint with

    \b
        KUBEBUILDER_ASSETS="$(setpoint envtest-assets bin)" go test ./...
    """
    from setpoint.envtest.assets import AssetsError, write

    path = Path(directory).absolute()
    try:
        write(path)
    except (AssetsError, OSError) as error:
        raise Failure(str(error)) from error
    echo(str(path))
