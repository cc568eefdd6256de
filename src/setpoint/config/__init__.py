"""The configuration of a control plane: one typed value, read from a file and from flags."""

from setpoint.config.settings import Config as Config
