"""Runs kube-controller-manager, kube-scheduler and KWOK, on Setpoint and on kube-apiserver, with the same work."""
