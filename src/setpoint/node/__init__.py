"""The functions of nodes: the interface between an API server and the agents of machines that run pods.

The server uses an agent by `functions.NodeFunctions`. Simulated nodes implement the interface; a kubelet or a container
engine can implement it as well.
"""
