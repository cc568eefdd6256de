"""Compares the answers of Setpoint with those of a real kube-apiserver, which `make oracle` builds."""
