"""Processes of this machine: started, watched, stopped as whole trees, and never left behind.

Every process is started by a guardian, a small process of our own that adopts whatever its descendants orphan and that
outlives a killed control plane just long enough to stop what must not survive it. Nothing here knows of the API.
"""
