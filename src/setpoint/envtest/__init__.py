"""Replacements for the executables that test suites of Go operators start: `kube-apiserver`, `etcd` and `kubectl`.

controller-runtime's `envtest` finds them in `KUBEBUILDER_ASSETS`, passes them the flags of the originals and waits
until they are healthy. `assets` writes the executables; the other modules implement them.
"""
