"""Administrative endpoints of the control plane: its status, its shutdown, and profiles of its process."""
