"""The facts of Services, pods and slices that the controllers of endpoints share."""
