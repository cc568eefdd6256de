/** The kinds of the control plane, by API group. */
import { sources } from "../palette.js";
import { Problem } from "../problem.js";
import { registerPage } from "../registry.js";
import { go, href } from "../route.js";
import { html, useEffect, useState } from "../view.js";
import { groups, problem, readKinds } from "./discovery.js";
import { resourceName } from "./kinds.js";

function KindsPage() {
  const [text, setText] = useState("");
  useEffect(() => {
    readKinds();
  }, []);
  const wanted = text.toLowerCase();
  const matches = (kind) => [kind.kind, kind.plural, ...kind.shortNames].some((name) => name.toLowerCase().includes(wanted));
  const shown = (groups.value ?? []).map(({ group, kinds }) => ({ group, kinds: kinds.filter(matches) })).filter(({ kinds }) => kinds.length);
  return html`<h1 tabindex="-1">Objects</h1>
    ${problem.value && html`<${Problem} error=${problem.value} onRetry=${readKinds} />`}
    <div class="row"><label for="kind-filter">Kind</label>
      <input id="kind-filter" type="search" value=${text} onInput=${(event) => setText(event.target.value)} /></div>
    ${groups.value === null && !problem.value && html`<p class="quiet">Reading the kinds …</p>`}
    <div class="kind-groups">${shown.map(
      ({ group, kinds }) => html`<section key=${group} aria-label=${group || "core"}>
        <h2>${group || "core"}</h2>
        <ul>${kinds.map((kind) => html`<li key=${kind.plural}><a href=${href(["objects", resourceName(kind)])}>${kind.kind}</a> <span class="quiet">${kind.version}</span></li>`)}</ul>
      </section>`,
    )}</div>
    ${groups.value !== null && shown.length === 0 && html`<p class="empty">No kind has this name.</p>`}`;
}

/** The kinds are entries of the palette once they are known. */
sources.set("kinds", () =>
  (groups.value ?? []).flatMap(({ kinds }) => kinds.map((kind) => ({ title: resourceName(kind), group: "kind", run: () => go(["objects", resourceName(kind)]) }))),
);

registerPage({ name: "objects", title: "Objects", pattern: "objects", component: KindsPage, order: 40, isLinked: true, keys: "g o" });
