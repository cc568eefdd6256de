/** The environment of a service with the origin of each variable; secrets are masked by the server. */
import { aboutPath } from "../../api.js";
import { useRead } from "../../collection.js";
import { Problem } from "../../problem.js";
import { registerPanel } from "../../registry.js";
import { Table } from "../../table.js";
import { html, useMemo, useState } from "../../view.js";
import { ofReplica } from "./replica_choice.js";
import { RUNNING_KINDS } from "./running_kinds.js";

const columns = [
  { name: "name", title: "Name", value: (row) => row.name, cell: (row) => html`<span class="mono">${row.name}</span>` },
  { name: "value", title: "Value", value: (row) => row.value ?? "", cell: Value, width: "minmax(0, 2fr)" },
  { name: "origin", title: "Origin", value: (row) => row.origin ?? "", width: "minmax(0, 1fr)" },
];

function Value(row) {
  return row.masked ? html`<span class="quiet mono" title="A secret, masked by the server">${row.value || "******"}</span>` : html`<span class="mono" title=${row.value}>${row.value}</span>`;
}

function EnvironmentPanel({ object, ...place }) {
  const { value, error } = useRead(aboutPath(place, "environment"), {}, {});
  const [text, setText] = useState("");
  const [isOwn, setOwn] = useState(false);
  const wanted = text.toLowerCase();
  const isInherited = (row) => /ambient|inherit/i.test(row.origin ?? "");
  const rows = useMemo(
    () => (value?.items ?? []).filter((row) => `${row.name}=${row.value}`.toLowerCase().includes(wanted) && !(isOwn && isInherited(row))),
    [value, wanted, isOwn],
  );
  if (error) return html`<${Problem} error=${error} />`;
  return html`<div class="row filter-row">
      <input type="search" aria-label="Variable" placeholder="Variable or value" value=${text} onInput=${(event) => setText(event.target.value)} />
      <label><input type="checkbox" checked=${isOwn} onChange=${(event) => setOwn(event.target.checked)} /> Without inherited variables</label>
    </div>
    <${Table} columns=${columns} rows=${rows} rowKey=${(row) => row.name} label="Environment" order=${{ name: "name", isReversed: false }} empty=${value ? "No variables" : "Reading …"} />`;
}

registerPanel({ place: "service", name: "environment", title: "Environment", order: 20, applies: RUNNING_KINDS, component: ofReplica(EnvironmentPanel) });
