/** Messages for screen readers, and short notes for everyone. */
import { html, signal } from "./view.js";

const NOTE_MILLISECONDS = 6000;
const spoken = signal("");
const notes = signal([]);

/** Has a screen reader say a text when idle. */
export function announce(text) {
  spoken.value = text;
}

/** Shows a note for a few seconds; an error stays until it is dismissed. */
export function note(text, { isError = false } = {}) {
  const made = { text, isError };
  notes.value = [...notes.value.filter((each) => each.text !== text), made].slice(-4);
  if (!isError) setTimeout(() => dismiss(made), NOTE_MILLISECONDS);
}

const dismiss = (made) => (notes.value = notes.value.filter((each) => each !== made));

export function LiveRegions() {
  return html`
    <div class="hidden-text" role="status" aria-live="polite">${spoken.value}</div>
    <div class="notes" aria-live="polite">
      ${notes.value.map(
        (each) => html`<div class=${each.isError ? "note failed" : "note"} role=${each.isError ? "alert" : "status"} key=${each.text}>
          <span>${each.text}</span>
          <button class="plain" aria-label="Dismiss" onClick=${() => dismiss(each)}>×</button>
        </div>`,
      )}
    </div>`;
}
