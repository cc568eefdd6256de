/** Changed fields, as a table: the field, the value before and after. */
import { html, useState } from "../view.js";
import { maskedValue } from "./secret_mask.js";

const MOST = 400;

/** @param {{changes: {path: string, kind: string, old: any, new: any, noise: boolean}[], kind: string}} properties */
export function Changes({ changes, kind }) {
  const [isWhole, setWhole] = useState(false);
  const shown = changes.filter((change) => isWhole || !change.noise);
  const hidden = changes.length - shown.length;
  return html`<div class="scroll"><table class="plain-table changes">
    <thead><tr><th scope="col">Field</th><th scope="col">Before</th><th scope="col">After</th></tr></thead>
    <tbody>${shown.slice(0, MOST).map(
      (change) => html`<tr key=${change.path} class=${change.kind}>
        <th scope="row"><code>${change.path || "(the whole object)"}</code></th>
        <td><del>${textOf(change, "old", kind, changes)}</del></td>
        <td><ins>${textOf(change, "new", kind, changes)}</ins></td>
      </tr>`,
    )}</tbody>
  </table></div>
  ${shown.length === 0 && html`<p class="empty">No significant field differs.</p>`}
  ${shown.length > MOST && html`<p class="quiet">${shown.length - MOST} further fields are not shown.</p>`}
  ${hidden > 0 && html`<button class="plain" onClick=${() => setWhole(true)}>Show ${hidden} more, such as times of probes</button>`}`;
}

function textOf(change, side, kind) {
  const value = change[side];
  if (value === undefined) return "";
  const shown = maskedValue(value, kind, change.path);
  if (shown === "***" && change.kind === "changed") return side === "old" ? "*** (before)" : "*** (after)";
  return typeof shown === "string" ? shown : JSON.stringify(shown);
}
