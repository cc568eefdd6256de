/** The start page: the parts of the app, failing ones first, their dependencies and their logs. */
import { useCollection } from "../../collection.js";
import { useTargets } from "../../logs/log_targets.js";
import { sources } from "../../palette.js";
import { Panels } from "../../panels.js";
import { Problem } from "../../problem.js";
import { registerPage } from "../../registry.js";
import { change, parameter } from "../../route.js";
import { SUMMARIES, openService, rankOf, reasonOf, titleOf } from "../../summaries.js";
import { isLive, selected } from "../../time.js";
import { html, useEffect, useMemo } from "../../view.js";
import { DependencyGraph } from "./dependency_graph.js";
import { ServiceTable } from "./service_table.js";
import { useUnread } from "./unread_errors.js";

// More groups are shown as one table: each table has a place of its own to scroll.
const MOST_GROUPS = 20;
const FAILING = "Failing";
const MOST_REASONS = 10;
const filter = parameter("filter");

/** Returns the tables: failing parts first, then the groups. */
function groupsOf(rows) {
  const failing = rows.filter((row) => row.state === "Failed");
  const groups = new Map();
  for (const row of rows) {
    if (row.state === "Failed") continue;
    const name = row.group || row.object.kind;
    groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  if (groups.size > MOST_GROUPS) return [[FAILING, failing], ["Other parts", [...groups.values()].flat()]];
  return [[FAILING, failing], ...[...groups].sort(([one], [other]) => (one < other ? -1 : 1))];
}

/** The reasons of failing parts on narrow screens, where the table has no room for them. */
function Reasons({ rows }) {
  return html`<ul class="narrow-only reasons">${rows.slice(0, MOST_REASONS).map((row) => html`<li key=${row.metadata.uid}><b>${titleOf(row)}</b> ${reasonOf(row)}</li>`)}</ul>`;
}

function StartPage() {
  const summaries = useCollection(SUMMARIES);
  const version = summaries.version.value;
  const all = useMemo(() => {
    const rows = [...summaries.items.values()];
    return rows.sort((one, other) => rankOf(one) - rankOf(other) || (titleOf(one) < titleOf(other) ? -1 : 1));
  }, [version, summaries]);
  const wanted = filter.value.toLowerCase();
  const rows = useMemo(() => all.filter((row) => titleOf(row).toLowerCase().includes(wanted)), [all, wanted]);
  const groups = useMemo(() => groupsOf(rows), [rows]);
  const failing = groups[0][1].length;
  useEffect(() => {
    sources.set("services", () => all.map((summary) => ({ title: titleOf(summary), group: summary.object.kind, run: () => openService(summary) })));
  }, [all]);
  const { targets } = useTargets([], selected.value, isLive.value ? processKey(all) : "");
  useUnread(isLive.value ? (targets ?? []) : []);
  const { value: error } = summaries.error;
  const isLoading = summaries.state.value === "loading" && !all.length;
  return html`<div class="row title-row">
      <h1 tabindex="-1">Services</h1>
      <span class=${failing ? "badge bad" : "badge"} role="status">${isLoading ? "reading" : failing ? `${failing} failing` : `${all.length} parts, none failing`}</span>
      <span class="grow"></span>
      <input type="search" aria-label="Name" placeholder="Name" value=${filter.value} onInput=${(event) => change({ filter: event.target.value }, { replace: true })} />
    </div>
    ${error && html`<${Problem} error=${error} />`}
    ${groups.map(([name, parts]) => parts.length > 0 && html`<section key=${name}><h2>${name[0].toUpperCase() + name.slice(1)}</h2><${ServiceTable} rows=${parts} all=${all} label=${name} />${name === FAILING && html`<${Reasons} rows=${parts} />`}</section>`)}
    ${!isLoading && !error && !rows.length && html`<p class="empty">${wanted ? "No part has this name." : "The app has no parts."}</p>`}
    <section><h2>Dependencies</h2><${DependencyGraph} summaries=${all} /></section>
    <${Panels} place="start" summaries=${all} />`;
}

/** Changes when processes may have come or gone. */
export const processKey = (summaries) => summaries.map(({ metadata, wanted, ready, restarts }) => `${metadata.uid}:${wanted}:${ready}:${restarts}`).join();

registerPage({ name: "start", title: "Services", pattern: "", component: StartPage, order: 10, isLinked: true, keys: "g s" });
