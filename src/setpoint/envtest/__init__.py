"""The executables that the test suites of Go operators start: `kube-apiserver`, `etcd` and `kubectl`, made of us.

controller-runtime's `envtest` finds them where `KUBEBUILDER_ASSETS` says, passes them the flags of the originals and
waits until they are healthy. `assets` writes them; the other modules are what they run.
"""
