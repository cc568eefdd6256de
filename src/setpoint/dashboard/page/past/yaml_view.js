/** The YAML of an object at the selected time, read-only; on request each line with its writer. */
import { get } from "../api.js";
import { clock } from "../format.js";
import { Problem } from "../problem.js";
import { href, route } from "../route.js";
import { VirtualList } from "../virtual_list.js";
import { html, useEffect, useMemo, useState } from "../view.js";
import { blameOf, writerOf } from "./blame.js";
import { useHistory } from "./history_reader.js";
import { masked } from "./secret_mask.js";
import { yamlLines } from "./yaml_lines.js";

const LINE_HEIGHT = 22;
const MOST_VISIBLE = 32;

export function YamlView({ object }) {
  const lines = useMemo(() => yamlLines(masked(object)), [object]);
  return html`<${Lines} label="YAML" lines=${lines} row=${(line) => html`<code>${line.text || " "}</code>`} />`;
}

/** The lines with the revision, the time and the writer that set the value. `path` is that of the object. */
export function BlameView({ reference, path, version = "" }) {
  const history = useHistory(reference, version);
  const base = useBase(path, history);
  const lines = useMemo(() => (base.isKnown ? blameOf(history.items, base.object) : []), [history.items, base]);
  if (history.error) return html`<${Problem} error=${history.error} />`;
  if (history.isLoading || !base.isKnown) return html`<p class="quiet">Reading the history …</p>`;
  const writer = ({ item }) => {
    const link = href(route.value.parts, { ...route.value.query, at: item.revision });
    return html`<a href=${link}>${item.revision}</a> <span class="wide-only">${clock(item.time)}</span> ${writerOf(item)}`;
  };
  const row = (line) => html`<span class="blame" title=${writerOf(line.item)}>${line.item && writer(line)}</span><code>${line.text}</code>`;
  return html`${history.next && html`<p>Fields without a writer are older than ${history.items.length} revisions. <button onClick=${history.more}>Read earlier ones</button></p>`}
    <${Lines} label="YAML with writers" lines=${lines} row=${row} />`;
}

/** Returns the object before the oldest item of a history that was not read to its beginning. */
function useBase(path, { items, next, isLoading }) {
  const revision = next && !isLoading ? (items.at(-1)?.previous ?? "") : "";
  const [state, setState] = useState({ revision: "", object: null });
  useEffect(() => {
    if (!revision) return undefined;
    const abort = new AbortController();
    get(path, { at: revision, signal: abort.signal }).then(
      (object) => setState({ revision, object }),
      () => abort.signal.aborted || setState({ revision, object: null }),
    );
    return () => abort.abort();
  }, [path, revision]);
  return useMemo(() => ({ isKnown: state.revision === revision || !revision, object: revision ? state.object : null }), [state, revision]);
}

function Lines({ lines, row, label }) {
  const height = `${Math.min(lines.length, MOST_VISIBLE) * LINE_HEIGHT + 4}px`;
  return html`<div class="lines" style=${{ height }}>
    <${VirtualList} count=${lines.length} rowHeight=${LINE_HEIGHT} label=${label}
      row=${(place) => html`<div class="line" role="listitem" key=${place}>${row(lines[place])}</div>`} />
  </div>`;
}
