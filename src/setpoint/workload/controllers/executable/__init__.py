"""The controller of Executables."""
