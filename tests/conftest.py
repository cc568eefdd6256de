"""Settings for every test: properties are about behaviour, so none may fail because the machine is busy."""

from hypothesis import settings

settings.register_profile("setpoint", deadline=None)
settings.load_profile("setpoint")
