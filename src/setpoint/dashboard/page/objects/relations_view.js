/** The relations of an object by ownership: its owners above, its dependents below. */
import { href } from "../route.js";
import { readLines } from "../stream.js";
import { isLive } from "../time.js";
import { html, useEffect, useState } from "../view.js";
import { addressOf, referenceOf } from "./discovery.js";
import { Dependents, ownersOf } from "./relations.js";

const OWNERSHIP = "/apis/setpoint.dev/v1/ownership";
const BATCH_MILLISECONDS = 100;

export function RelationsView({ object }) {
  const owners = ownersOf(object);
  const { namespace = "" } = object.metadata;
  return html`<h2>Owners</h2>
    ${owners.length === 0 && html`<p class="empty">The object has no owner.</p>`}
    <ul>${owners.map((owner) => html`<li key=${owner.uid}><${Link} object=${{ ...owner, namespace }} />${owner.controller ? html` <span class="badge">controller</span>` : ""}</li>`)}</ul>
    <h2>Dependents</h2>
    ${isLive.value ? html`<${DependentsList} uid=${object.metadata.uid} />` : html`<p class="quiet">Dependents are known for the newest state only.</p>`}`;
}

function DependentsList({ uid }) {
  const [state, setState] = useState({ rows: [], isComplete: false, isRefused: false });
  useEffect(() => {
    const abort = new AbortController();
    const found = new Dependents(uid);
    let timer = 0;
    const show = () => {
      timer = 0;
      setState({ rows: found.rows(), isComplete: found.complete, isRefused: false });
    };
    readLines(OWNERSHIP, { query: { watch: "true", sendInitialEvents: "true", ownerUID: uid }, signal: abort.signal }, (line) => {
      found.apply(JSON.parse(line));
      timer ||= setTimeout(show, BATCH_MILLISECONDS);
    }).then((wasOpen) => wasOpen || abort.signal.aborted || setState({ rows: [], isComplete: true, isRefused: true }));
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [uid]);
  if (state.isRefused) return html`<p class="problem">Dependents cannot be read: this requires the right to watch ownership in the group setpoint.dev.</p>`;
  if (!state.rows.length) return html`<p class="empty">${state.isComplete ? "The object has no dependents." : "Reading the dependents …"}</p>`;
  return html`<ul class="tree" aria-label="Dependents">${state.rows.map(
    ({ object, depth }) => html`<li key=${object.metadata.uid} style=${{ paddingInlineStart: `${depth * 1.25}rem` }}><${Link} object=${object} /></li>`,
  )}</ul>`;
}

function Link({ object }) {
  const reference = referenceOf(object);
  const text = `${object.kind} ${object.metadata?.name ?? object.name}`;
  return reference ? html`<a href=${href(addressOf(reference))}>${text}</a>` : text;
}
