/** The lines of plain output that contain the ID of a trace. */
import { LineRange } from "../logs/line_range.js";
import { LogList } from "../logs/log_list.js";
import { useTargets } from "../logs/log_targets.js";
import { Problem } from "../problem.js";
import { selected } from "../time.js";
import { html, useEffect, useMemo } from "../view.js";
import { partsOf, rangeOf } from "./line_search.js";

const LIMIT = 500;
const MOST_VISIBLE = 15;
const FORBIDDEN = 403;

/** @param {{id: string, spans: object[]}} properties */
export function PlainLines({ id, spans }) {
  const parts = useMemo(() => partsOf(spans), [spans]);
  return html`<h2>Plain output of this trace</h2>
    ${parts.length ? html`<${Lines} id=${id} spans=${spans} parts=${parts} />` : html`<p class="empty">No service of this trace is a service of the app.</p>`}`;
}

function Lines({ id, spans, parts }) {
  const found = useTargets(parts, selected.value);
  const targets = (found.targets ?? []).filter((each) => !each.terminal);
  const range = useMemo(() => rangeOf(spans), [spans]);
  const key = JSON.stringify([targets.map((each) => each.uid), range]);
  const lines = useMemo(() => (targets.length ? new LineRange(targets, { grep: id, ...range, limit: LIMIT }) : null), [key]);
  useEffect(() => () => lines?.close(), [lines]);
  const names = useMemo(() => new Map(targets.map((each) => [each.name, each.part])), [key]);
  const error = found.error ?? lines?.error.value;
  if (error?.code === FORBIDDEN) return html`<p class="empty">The output of these services requires the right to their logs.</p>`;
  if (error) return html`<${Problem} error=${error} onRetry=${() => lines?.open()} />`;
  if (found.targets === null || lines?.isBusy.value) return html`<p class="quiet" role="status">Reading the output …</p>`;
  const count = lines?.shown.value.lines.length ?? 0;
  if (!count) return html`<p class="empty">No line contains the ID of this trace.</p>`;
  return html`${(lines.isCut || found.isCut) && html`<p class="quiet">Only a part of the lines is shown.</p>`}
    <div class="short-log" style=${{ "--lines": Math.min(count, MOST_VISIBLE) }}><${LogList} window=${lines} nameOf=${(name) => names.get(name) ?? name} label="Lines of plain output" hasTraces=${false} /></div>`;
}
