/** The buttons for the actions that a summary offers. */
import { SIGNS, TITLES, act } from "./actions.js";
import { Dialog } from "./dialog.js";
import { isReadOnly } from "./session.js";
import { isLive } from "./time.js";
import { html, useState } from "./view.js";

/** @param {{summary: object, isNamed?: boolean}} properties `isNamed` shows the names of actions instead of signs */
export function ActionButtons({ summary, isNamed = false }) {
  const [isScaling, setScaling] = useState(false);
  const [busy, setBusy] = useState("");
  if (isReadOnly() || !isLive.value) return null;
  const run = async (action) => {
    if (action === "scale") return setScaling(true);
    setBusy(action);
    await act(action, summary);
    return setBusy("");
  };
  const { name } = summary.object;
  return html`<span class="actions">
    ${(summary.actions ?? []).map(
      (action) => html`<button key=${action} class=${isNamed ? "" : "sign"} disabled=${busy === action} onClick=${() => run(action)}
        title=${`${TITLES[action]} ${name}`} aria-label=${`${TITLES[action]} ${name}`}>${isNamed ? TITLES[action] : SIGNS[action]}</button>`,
    )}
    ${isScaling && html`<${Scale} summary=${summary} onClose=${() => setScaling(false)} />`}
  </span>`;
}

function Scale({ summary, onClose }) {
  const [count, setCount] = useState(String(summary.wanted ?? 1));
  const isValid = /^\d{1,4}$/.test(count);
  const submit = async (event) => {
    event.preventDefault();
    if (isValid && (await act("scale", summary, Number(count)))) onClose();
  };
  return html`<${Dialog} title=${`Scale ${summary.object.name}`} onClose=${onClose}>
    <form onSubmit=${submit}>
      <label>Replicas <input type="number" min="0" max="9999" value=${count} onInput=${(event) => setCount(event.target.value)} autofocus /></label>
      <footer><button type="button" onClick=${onClose}>Cancel</button><button class="primary" disabled=${!isValid}>Scale</button></footer>
    </form>
  <//>`;
}
