"""The app file, `setpoint.yaml`: an app of several services in a few lines, and the objects that it becomes."""
