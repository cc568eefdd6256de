/** The logs of a service. */
import { LogView } from "../../logs/log_view.js";
import { registerPanel } from "../../registry.js";
import { html } from "../../view.js";

const LOGGED = ["executables", "containers"];
const WITH_CHILDREN = ["executablereplicasets", "tasks"];

function LogPanel({ resource, name, object, summary }) {
  if (!LOGGED.includes(resource)) {
    return html`<${LogView} parts=${[name]} refresh=${`${summary.ready}/${summary.wanted} ${summary.restarts} ${summary.state}`} />`;
  }
  const target = { resource, name, part: name, uid: object.metadata.uid, terminal: Boolean(object.spec?.terminal) };
  return html`<${LogView} target=${target} refresh=${object.metadata.resourceVersion} />`;
}

registerPanel({
  place: "service",
  name: "logs",
  title: "Logs",
  order: 10,
  applies: ({ resource, object }) => [...LOGGED, ...WITH_CHILDREN].includes(resource) && !object.spec?.terminal,
  component: LogPanel,
});
