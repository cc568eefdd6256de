"""The kind of the comparison, as the program in Go has it (`tests/clients/go/operator`)."""

import setpoint as sp


class TankSpec(sp.Model):
    """What a tank should be."""

    capacity: int
    unit: str = ""


class TankStatus(sp.Model):
    """What was made of it."""

    label: str = ""
    observed_generation: int = 0


class Tank(sp.Resource, group="operator.setpoint.example", version="v1"):
    """Holds something; its label is written on a ConfigMap."""

    spec: TankSpec
    status: TankStatus | None = None
