"""The controllers of Containers, and of their networks, volumes, commands and tunnels."""
