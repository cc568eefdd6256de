"""`setpoint mcp`: tools for coding assistants, by the Model Context Protocol."""
