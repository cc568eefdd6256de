/** The command palette: commands, pages and objects, found by parts of their names. */
import { Dialog } from "./dialog.js";
import { registeredCommands, registeredPages } from "./registry.js";
import { html, signal, useEffect, useId, useState } from "./view.js";

const MOST_SHOWN = 40;

/**
 * Functions that return further entries for the palette, such as one for each service; pages set them.
 * @type {Map<string, () => {title: string, group: string, run: () => void}[]>}
 */
export const sources = new Map();
export const isPaletteOpen = signal(false);

/** @param {{open: (page: object) => void}} properties `open` opens a page. */
export function Palette({ open }) {
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const id = useId();
  const close = () => (isPaletteOpen.value = false);
  const entries = found(entriesOf(open), text);
  const current = Math.min(active, entries.length - 1);
  useEffect(() => document.getElementById(`${id}-${current}`)?.scrollIntoView({ block: "nearest" }), [current]);
  const choose = (entry) => {
    close();
    entry.run();
  };
  const onKey = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && entries.length) {
      event.preventDefault();
      setActive((current + step + entries.length) % entries.length);
    } else if (event.key === "Enter" && entries[current]) {
      event.preventDefault();
      choose(entries[current]);
    }
  };
  return html`<${Dialog} title="Commands" onClose=${close}>
    <input type="text" autofocus role="combobox" aria-expanded="true" aria-controls=${`${id}-list`} aria-label="Command, page or object"
      aria-activedescendant=${entries.length ? `${id}-${current}` : undefined} aria-autocomplete="list" placeholder="Type a name" value=${text} autocomplete="off"
      spellcheck=${false} onInput=${(event) => (setText(event.target.value), setActive(0))} onKeyDown=${onKey} />
    <ul class="choices" role="listbox" id=${`${id}-list`} aria-label="Found">${entries.map(
      (entry, index) => html`<li role="option" id=${`${id}-${index}`} key=${`${entry.group}/${entry.title}`} aria-selected=${index === current}
        onMouseMove=${() => setActive(index)} onClick=${() => choose(entry)}>
        <span>${entry.title}</span><span class="quiet">${entry.keys ? html`<kbd>${entry.keys}</kbd>` : entry.group}</span>
      </li>`,
    )}</ul>
    ${entries.length === 0 && html`<p class="empty" role="status">No command, page or object has this name.</p>`}
  <//>`;
}

function entriesOf(open) {
  const ofPages = registeredPages.value
    .filter((page) => page.isLinked)
    .map((page) => ({ title: page.title, group: "page", keys: page.keys, run: () => open(page) }));
  const commands = registeredCommands.value.map((command) => ({ group: "command", ...command }));
  return [...ofPages, ...commands, ...[...sources.values()].flatMap((source) => source())];
}

/** Returns the entries that contain all words of the text, those that begin with it first. */
function found(entries, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const name = (entry) => `${entry.title} ${entry.group}`.toLowerCase();
  const matching = entries.filter((entry) => words.every((word) => name(entry).includes(word)));
  const rank = (entry) => (words.length && entry.title.toLowerCase().startsWith(words[0]) ? 0 : 1);
  return matching.sort((one, other) => rank(one) - rank(other)).slice(0, MOST_SHOWN);
}
