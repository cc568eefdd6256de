/** Keyboard shortcuts: single keys and sequences of two, such as "g s". Fields for text keep their keys. */
import { registeredCommands, registeredPages } from "./registry.js";

const SEQUENCE_MILLISECONDS = 1500;
const FIELDS = "input, textarea, select, [contenteditable], .terminal";

/** Returns all shortcuts: those of pages and of commands. `open` opens a page. */
export function shortcuts(open) {
  const ofPages = registeredPages.value.filter((page) => page.keys).map((page) => ({ keys: page.keys, title: `Open ${page.title}`, run: () => open(page) }));
  return [...ofPages, ...registeredCommands.value.filter((command) => command.keys)];
}

/** Calls shortcuts until the returned function is called. `find` returns the current ones. */
export function listen(find) {
  let first = "";
  let since = 0;
  const onKey = (event) => {
    const name = nameOf(event);
    if (!name || event.defaultPrevented) return;
    const isTyping = event.target instanceof Element && event.target.closest(FIELDS);
    if (isTyping && !event.ctrlKey && !event.metaKey) return;
    if (isTyping && event.target.closest(".terminal")) return;
    if (document.querySelector("dialog[open]")) return;
    const now = event.timeStamp;
    const sequence = first && now - since < SEQUENCE_MILLISECONDS ? `${first} ${name}` : name;
    const known = find();
    const found = known.find((each) => each.keys === sequence) ?? known.find((each) => each.keys === name);
    first = "";
    if (found) {
      event.preventDefault();
      found.run();
    } else if (known.some((each) => each.keys.startsWith(`${name} `))) {
      first = name;
      since = now;
    }
  };
  addEventListener("keydown", onKey);
  return () => removeEventListener("keydown", onKey);
}

/** Returns the name of a key as in `keys`: "Ctrl+k", "?", "g". */
function nameOf(event) {
  if (event.altKey || ["Control", "Shift", "Meta", "Alt"].includes(event.key)) return "";
  return event.ctrlKey || event.metaKey ? `Ctrl+${event.key.toLowerCase()}` : event.key;
}
