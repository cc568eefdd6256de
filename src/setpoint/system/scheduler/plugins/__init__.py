"""The plug-ins of the scheduler, one for each rule about pods and nodes."""
