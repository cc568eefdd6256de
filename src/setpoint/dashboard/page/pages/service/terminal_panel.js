/** The terminal of a service that has one. */
import { resourcePath } from "../../api.js";
import { useTargets } from "../../logs/log_targets.js";
import { registerPanel } from "../../registry.js";
import { isReadOnly } from "../../session.js";
import { Terminal } from "../../terminal/terminal.js";
import { isLive, selected } from "../../time.js";
import { html, useState } from "../../view.js";

const GROUP = "usvc-dev.developer.microsoft.com";
const ATTACHABLE = ["executables", "containers"];

const pathOf = ({ resource, name }) => resourcePath({ group: GROUP, resource, name, subresource: "attach" });

function TerminalPanel({ resource, name }) {
  if (!isLive.value || isReadOnly()) return html`<p class="empty">A terminal exists only in a running app: select the time "live".</p>`;
  if (ATTACHABLE.includes(resource)) return html`<${Terminal} path=${pathOf({ resource, name })} label=${`Terminal of ${name}`} />`;
  return html`<${ReplicaTerminal} name=${name} />`;
}

/** The terminal of one of the replicas of a service. */
function ReplicaTerminal({ name }) {
  const { targets } = useTargets([name], selected.value);
  const [chosen, setChosen] = useState("");
  const found = (targets ?? []).filter((each) => each.terminal);
  const target = found.find((each) => each.name === chosen) ?? found[0];
  if (!target) return html`<p class="empty" role="status">${targets ? "No replica has a terminal." : "Reading …"}</p>`;
  return html`${found.length > 1 && html`<p><label>Replica <select value=${target.name} onChange=${(event) => setChosen(event.target.value)}>
      ${found.map((each) => html`<option key=${each.name} value=${each.name}>${each.name}</option>`)}</select></label></p>`}
    <${Terminal} key=${target.name} path=${pathOf(target)} label=${`Terminal of ${target.name}`} />`;
}

registerPanel({ place: "service", name: "terminal", title: "Terminal", order: 5, applies: ({ summary }) => Boolean(summary.terminal), component: TerminalPanel });
