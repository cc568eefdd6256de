"""Addresses that stay while what answers at them comes and goes: proxies for TCP and UDP, and the ports they have."""
