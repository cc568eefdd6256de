/** The conditions of an object, drawn as the walk of its state machine. */
import { age } from "../format.js";
import { html } from "../view.js";
import { machineOf } from "./state_machine.js";

const WORDS = { True: "passed", False: "not passed", Unknown: "not reached" };

export function Conditions({ object }) {
  const machine = machineOf(object);
  if (!machine) return html`<p class="empty">The object has no conditions.</p>`;
  const { ready, states, suspended } = machine;
  const all = ready ? [...states, { ...ready, since: ready.lastTransitionTime ?? "", current: false }] : states;
  return html`${suspended && html`<p role="status">The object is suspended: its controllers leave it as it is.</p>`}
    <ol class="machine" aria-label="States">${all.map(
      (state) => html`<li key=${state.type} class=${`machine-state ${state.status} ${state.current ? "current" : ""}`} aria-current=${state.current ? "step" : undefined}>
        <strong>${state.type}</strong>
        <span>${WORDS[state.status] ?? state.status}${state.reason ? `: ${state.reason}` : ""}</span>
      </li>`,
    )}</ol>
    <div class="scroll"><table class="plain-table">
      <thead><tr><th scope="col">Condition</th><th scope="col">Status</th><th scope="col">Reason</th><th scope="col">Message</th><th scope="col">Since</th></tr></thead>
      <tbody>${all.map(
        (state) => html`<tr key=${state.type}><th scope="row">${state.type}</th><td>${state.status}</td><td>${state.reason}</td><td>${state.message}</td>
          <td title=${state.since}>${age(state.since)}</td></tr>`,
      )}</tbody>
    </table></div>`;
}
