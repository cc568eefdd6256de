/** The events about an object, newest first. */
import { useCollection } from "../collection.js";
import { age } from "../format.js";
import { Problem } from "../problem.js";
import { html } from "../view.js";
import { eventsPath } from "./discovery.js";

export function EventsView({ object }) {
  const { uid, namespace = "default" } = object.metadata;
  const events = useCollection(eventsPath(namespace), { fieldSelector: `involvedObject.uid=${uid}` });
  const rows = events.version.value >= 0 ? [...events.items.values()].sort((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1)) : [];
  if (events.error.value) return html`<${Problem} error=${events.error.value} />`;
  if (!rows.length) return html`<p class="empty">${events.state.value === "loading" ? "Reading the events …" : "No events are kept for this object."}</p>`;
  return html`<div class="scroll"><table class="plain-table">
    <thead><tr><th scope="col">Age</th><th scope="col">Type</th><th scope="col">Reason</th><th scope="col">Message</th><th scope="col">Count</th><th scope="col">Source</th></tr></thead>
    <tbody>${rows.map(
      (event) => html`<tr key=${event.metadata.uid} class=${event.type === "Warning" ? "warning" : ""}>
        <td title=${timeOf(event)}>${age(timeOf(event))}</td><td>${event.type}</td><td>${event.reason}</td><td>${event.message ?? event.note}</td>
        <td>${event.series?.count ?? event.count ?? 1}</td><td>${event.reportingComponent || event.source?.component}</td></tr>`,
    )}</tbody>
  </table></div>`;
}

const timeOf = (event) => event.series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp ?? "";
