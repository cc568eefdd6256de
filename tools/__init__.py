"""Scripts that make what the package ships as data. Nothing in `setpoint` imports them."""
