/** Decides which objects run programs, and so have an environment, probes, attempts and samples. */
const RESOURCES = ["executables", "executablereplicasets", "containers", "tasks"];

export const RUNNING_KINDS = ({ resource }) => RESOURCES.includes(resource);
