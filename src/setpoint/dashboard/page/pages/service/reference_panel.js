/** The objects that an object refers to, and those that refer to it. */
import { StatusError, get } from "../../api.js";
import { registerPanel } from "../../registry.js";
import { href } from "../../route.js";
import { Table } from "../../table.js";
import { selected } from "../../time.js";
import { html, signal, useEffect, useMemo } from "../../view.js";
import { referencesOf, referrersOf } from "./references.js";

const WORKLOADS = "usvc-dev.developer.microsoft.com";
const RESOURCES = {
  Executable: `executables.${WORKLOADS}`, ExecutableReplicaSet: `executablereplicasets.${WORKLOADS}`, Container: `containers.${WORKLOADS}`,
  ContainerNetwork: `containernetworks.${WORKLOADS}`, ContainerVolume: `containervolumes.${WORKLOADS}`, Service: `services.${WORKLOADS}`, Task: "tasks.setpoint.dev",
};
const SEARCHED = ["Executable", "ExecutableReplicaSet", "Container", "Task"];
// The objects of each kind whose fields are searched for references.
const MOST_SEARCHED = 250;

const columns = [
  { name: "direction", title: "Direction", value: (row) => row.direction, width: "7.5rem" },
  { name: "kind", title: "Kind", value: (row) => row.kind, width: "minmax(0, 0.7fr)", isWide: true },
  { name: "name", title: "Name", value: (row) => row.name, cell: Name },
  { name: "how", title: "Reference", value: (row) => row.how, cell: (row) => html`<span title=${row.how}>${row.how}</span>`, width: "minmax(0, 2.5fr)" },
];

function Name({ kind, name }) {
  return RESOURCES[kind] ? html`<a href=${href(["service", RESOURCES[kind], name])}>${name}</a>` : name;
}

/** Returns the other workloads, of the kinds that the viewer may list. */
function useWorkloads() {
  const at = selected.value;
  const state = useMemo(() => signal({ items: null, isCut: false, hidden: [] }), []);
  useEffect(() => {
    const abort = new AbortController();
    const read = async (kind) => {
      const [plural, ...group] = RESOURCES[kind].split(".");
      try {
        const list = await get(`/apis/${group.join(".")}/v1/${plural}`, { query: { limit: MOST_SEARCHED }, at, signal: abort.signal });
        return { items: list.items.map((item) => ({ kind, ...item })), isCut: Boolean(list.metadata.continue), hidden: [] };
      } catch (error) {
        if (!(error instanceof StatusError)) throw error;
        return { items: [], isCut: false, hidden: [kind] };
      }
    };
    Promise.all(SEARCHED.map(read)).then(
      (found) => (state.value = { items: found.flatMap((each) => each.items), isCut: found.some((each) => each.isCut), hidden: found.flatMap((each) => each.hidden) }),
      () => undefined,
    );
    return () => abort.abort();
  }, [at]);
  return state.value;
}

function ReferencePanel({ object, summary }) {
  const { items, isCut, hidden } = useWorkloads();
  const whole = { kind: summary.object.kind, ...object };
  const rows = useMemo(() => {
    const out = referencesOf(whole).map((each) => ({ ...each, direction: "refers to" }));
    const back = referrersOf(whole, items ?? []).map((each) => ({ ...each, direction: "referred by" }));
    return [...out, ...back];
  }, [object, items]);
  return html`<${Table} columns=${columns} rows=${rows} rowKey=${(row) => `${row.direction} ${row.kind}/${row.name}`} label="References" empty=${items ? "No references" : "Reading …"} />
    ${isCut && html`<p class="quiet">Only the first ${MOST_SEARCHED} objects of each kind were searched.</p>`}
    ${hidden.length > 0 && html`<p class="quiet">Not searched, because you may not list them: ${hidden.join(", ")}</p>`}`;
}

registerPanel({ place: "service", name: "references", title: "References", order: 40, component: ReferencePanel });
