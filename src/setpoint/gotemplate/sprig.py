"""The functions of Sprig that templates of KWOK and Helm use most. Those that read the environment, the network, files
or keys are left out."""

from collections.abc import Mapping

from setpoint.gotemplate.builtins import Builtin
from setpoint.gotemplate.sprig_data import DATA_FUNCTIONS
from setpoint.gotemplate.sprig_text import TEXT_FUNCTIONS

SPRIG: Mapping[str, Builtin] = {**TEXT_FUNCTIONS, **DATA_FUNCTIONS}
