/** Panels of one process or container: for replica sets and tasks, the viewer chooses one of their processes. */
import { useTargets } from "../../logs/log_targets.js";
import { Problem } from "../../problem.js";
import { selected } from "../../time.js";
import { html, useState } from "../../view.js";

const GROUP = "usvc-dev.developer.microsoft.com";
const WITH_CHILDREN = ["executablereplicasets", "tasks"];

/** Returns a panel that shows `Component` for one process, with the properties of that process. */
export function ofReplica(Component) {
  return function ReplicaPanel(properties) {
    if (!WITH_CHILDREN.includes(properties.resource)) return html`<${Component} ...${properties} />`;
    return html`<${Choice} Component=${Component} ...${properties} />`;
  };
}

function Choice({ Component, ...properties }) {
  const { ready, wanted, restarts, state } = properties.summary;
  const { targets, error } = useTargets([properties.name], selected.value, `${ready}/${wanted} ${restarts} ${state}`);
  const [chosen, setChosen] = useState("");
  if (error) return html`<${Problem} error=${error} />`;
  const target = targets?.find((each) => each.name === chosen) ?? targets?.[0];
  if (!target) return html`<p class="empty" role="status">${targets ? "No process is running" : "Reading …"}</p>`;
  const place = { ...properties, resource: target.resource, group: GROUP, namespace: "", name: target.name };
  return html`${targets.length > 1 && html`<p><label>Process <select value=${target.name} onChange=${(event) => setChosen(event.target.value)}>
      ${targets.map((each) => html`<option key=${each.uid} value=${each.name}>${each.name}</option>`)}</select></label></p>`}
    <${Component} key=${target.uid} ...${place} />`;
}
