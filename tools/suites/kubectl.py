"""Runs kubectl's shell suites, `test/cmd` of the Kubernetes sources, against Setpoint.

    python -m tools.suites.kubectl --source PATH [--kubectl PATH] [NAME ...]

PATH is a source tree of Kubernetes with the directories `test`, `hack` and `third_party`. NAME is a test without its
prefix and suffix (`deployment` for `run_deployment_tests`); by default all tests run. The controllers are those of
kube-controller-manager in build/peers (`make oracle`). With --real, the same tests run against kube-apiserver and etcd
of build/peers, which shows failures that are not due to Setpoint.

Exit code 1: a test failed. The output of all tests is in the file that the command names last.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory, mkdtemp

from tests.oracle.peers import companion, oracle, write_files, write_kubeconfig
from tests.oracle.programs import missing

TOKEN = "admin-token"
# The flags of the suite's own server.
PLUGINS = (
    "--enable-admission-plugins=LimitRanger,ResourceQuota",
    "--disable-admission-plugins=ServiceAccount,DefaultStorageClass,DefaultTolerationSeconds,MutatingAdmissionWebhook,"
    "ValidatingAdmissionWebhook,StorageObjectInUseProtection",
)
# The suite's own entry builds and starts servers; this one has a server, and only runs the tests.
_ENTRY = """
set -o errexit -o nounset -o pipefail
source hack/lib/init.sh
source hack/lib/test.sh
source test/cmd/legacy-script.sh
kube::util::trap_add stop-proxy EXIT SIGINT
kube::util::ensure-temp-dir
export HOME="${KUBE_TEMP}"
CONTEXT=test
kubectl config set-credentials test-admin --token admin-token
kubectl config set-cluster local --insecure-skip-tls-verify --server "https://127.0.0.1:${SECURE_API_PORT}"
kubectl config set-context "${CONTEXT}" --user test-admin --cluster local
kubectl config use-context "${CONTEXT}"
kubectl create -f - << END
{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "127.0.0.1", "annotations": {"save-managers": "true"}},
 "status": {"capacity": {"memory": "1Gi"}}}
END
export SUPPORTED_RESOURCES=("*")
runTests
"""


@contextmanager
def _setpoint(directory: Path, source: Path) -> Iterator[int]:
    """Runs Setpoint with the flags of the suite; gives the port."""
    files = write_files(directory)
    options = [
        *("--listen=127.0.0.1:0", f"--kubeconfig={directory / 'kubeconfig'}", f"--data={directory / 'data'}"),
        *(f"--tls-cert-file={files.certificate}", f"--tls-private-key-file={files.key}"),
        *(f"--client-ca-file={source / 'hack/testdata/ca/ca.crt'}", "--service-cluster-ip-range=10.0.0.0/24"),
        *(f"--token-auth-file={source / 'hack/testdata/auth-tokens.csv'}", "--authorization-mode=AlwaysAllow"),
        # kube-apiserver refuses anonymous requests in this mode.
        "--anonymous-auth=never",
        *(each for flag in PLUGINS for each in _repeated(flag)),
        *("--controllers=-*", "--service-account-issuer=https://kubernetes.default.svc"),
    ]
    with (directory / "setpoint.log").open("wb") as errors:
        command = [sys.executable, "-m", "setpoint", "serve", *options]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        assert server.stdout is not None
        line = server.stdout.readline().strip()
        if not line.startswith("ready "):
            raise SystemExit(f"setpoint serve is not ready: {(directory / 'setpoint.log').read_text()[-2000:]}")
        yield int(line.rpartition(":")[2])
    finally:
        server.terminate()
        server.communicate()


def _repeated(flag: str) -> list[str]:
    """A flag with a list, as one flag for each value."""
    name, _, values = flag.partition("=")
    return [f"{name}={value}" for value in values.split(",")]


@contextmanager
def _real(directory: Path, source: Path) -> Iterator[int]:
    """Runs kube-apiserver and etcd with the flags of the suite; gives the port."""
    files = write_files(directory)
    with (source / "hack/testdata/auth-tokens.csv").open() as tokens, files.users.open("a") as users:
        users.write(tokens.read())
    flags = [
        *(f"--client-ca-file={source / 'hack/testdata/ca/ca.crt'}", "--service-cluster-ip-range=10.0.0.0/24"),
        *("--authorization-mode=AlwaysAllow", "--service-account-issuer=https://kubernetes.default.svc", *PLUGINS),
    ]
    with oracle(directory, files, flags) as server:
        yield server.port


def _root(directory: Path, source: Path, kubectl: Path) -> Path:
    """A directory with links to the sources, in which the suite finds the kubectl."""
    root = directory / "root"
    (root / "_output" / "bin").mkdir(parents=True)
    for path in source.iterdir():
        if path.name != "_output":
            (root / path.name).symlink_to(path)
    for program in (kubectl, kubectl.with_name("kubectl-convert")):
        if program.exists():
            (root / "_output" / "bin" / program.name).symlink_to(program)
    return root


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs kubectl's shell suites against Setpoint.")
    parser.add_argument("--source", type=Path, required=True, help="a source tree of Kubernetes")
    parser.add_argument("--kubectl", type=Path, help="kubectl of the version of the sources; default: from PATH")
    parser.add_argument("--real", action="store_true", help="against kube-apiserver of build/peers")
    parser.add_argument("names", nargs="*", metavar="NAME", help="tests to run, e.g. deployment")
    options = parser.parse_intermixed_args()
    source: Path = options.source.resolve()
    if not (source / "test/cmd/legacy-script.sh").is_file():
        parser.error(f"{source} has no test/cmd/legacy-script.sh: pass a source tree of Kubernetes")
    if absent := missing("kube-controller-manager", *(("kube-apiserver", "etcd") if options.real else ())):
        parser.error(f"{', '.join(absent)} missing in build/peers: run `make oracle`")
    found = options.kubectl or which("kubectl")
    if found is None:
        parser.error("no kubectl on PATH: pass --kubectl")
    log = Path(mkdtemp(prefix="kubectl-suite-")) / "output.log"
    with TemporaryDirectory() as name, ExitStack() as stack:
        directory = Path(name)
        root = _root(directory, source, Path(found).resolve())
        # Tests of `kubectl config` read the certificate that the suite's own server would have created.
        (directory / "apiserver.crt").symlink_to(directory / "server.pem")
        port = stack.enter_context((_real if options.real else _setpoint)(directory, source))
        kubeconfig = directory / "manager.kubeconfig"
        write_kubeconfig(kubeconfig, f"https://127.0.0.1:{port}", directory / "ca.pem", TOKEN)
        authority = source / "hack/testdata/ca"
        signing = [f"--cluster-signing-cert-file={authority}/ca.crt", f"--cluster-signing-key-file={authority}/ca.key"]
        stack.enter_context(companion("kube-controller-manager", kubeconfig, directory, signing))
        environment = {
            **os.environ,
            "SECURE_API_PORT": str(port),
            "WHAT": " ".join(options.names),
            # kubectl and the server have versions of their own.
            "ALLOW_SKEW": "true",
            "KUBE_JUNIT_REPORT_DIR": str(directory / "junit"),
            "TMPDIR": str(directory),
        }
        with log.open("wb") as output:
            subprocess.run(["bash", "-c", _ENTRY], cwd=root, env=environment, stdout=output, stderr=output, check=False)
    return report(log)


def report(log: Path) -> int:
    """Prints the counts and the failed tests."""
    text = log.read_text(errors="replace")
    ran = re.findall(r"^Recording: (run_\w+)$", text, re.M)
    failed = re.findall(r"^Error when running (run_\w+)$", text, re.M)
    print(f"{len(ran)} tests, {len(ran) - len(failed)} passed, {len(failed)} failed")
    for test in failed:
        print(f"failed: {test}")
    print(f"output: {log}")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
