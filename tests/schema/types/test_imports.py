"""Writing a class costs little: validation and the built-in kinds are loaded when a definition is made."""

import subprocess
import sys


def test_importing_the_types_loads_no_validation_and_no_data() -> None:
    code = (
        "import sys, setpoint.schema.types\n"
        "heavy = ('setpoint.schema.crd', 'setpoint.schema.cel', 'setpoint.schema.structural', 'yaml', 'asyncio')\n"
        "print([name for name in sys.modules if name.startswith(heavy)])\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
