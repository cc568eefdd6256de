/** The pages, panels, bars, commands and shortcuts of the page. Modules register theirs when they are loaded. */
import { signal } from "./view.js";

const byOrder = (one, other) => (one.order ?? 100) - (other.order ?? 100);

/** @typedef {{name: string, title: string, pattern: string, component: Function, order?: number, isLinked?: boolean, keys?: string}} Page */
export const registeredPages = signal(/** @type {Page[]} */ ([]));
export const registeredPanels = signal([]);
export const registeredBars = signal([]);
export const registeredCommands = signal([]);

/**
 * Adds a page. `pattern` is matched with the path: "service/:resource/:name", with `*` for the rest. `order` is the place
 * in the navigation, which shows pages with `isLinked`; `keys` opens the page, such as "g s".
 */
export function registerPage(page) {
  registeredPages.value = [...registeredPages.value, page].sort(byOrder);
}

/**
 * Adds a panel: `place` is where ("service", "start", or a name of yours), `applies` decides by the properties of the
 * place, which the component gets as well.
 */
export function registerPanel(panel) {
  registeredPanels.value = [...registeredPanels.value, panel].sort(byOrder);
}

/** Adds a bar under the navigation, on every page. */
export function registerBar(bar) {
  registeredBars.value = [...registeredBars.value, bar].sort(byOrder);
}

/** Adds a command to the palette: `{title, run, keys?, group?}`; with keys, a shortcut too. Returns its removal. */
export function registerCommand(command) {
  registeredCommands.value = [...registeredCommands.value, command];
  return () => {
    registeredCommands.value = registeredCommands.value.filter((each) => each !== command);
  };
}

/** Returns the panels of a place for its properties. */
export const panelsOf = (place, properties = {}) =>
  registeredPanels.value.filter((panel) => panel.place === place && (panel.applies?.(properties) ?? true));

/** Returns the page of a path with the values of its pattern; null if there is none. */
export function pageOf(parts) {
  for (const page of registeredPages.value) {
    const values = matched(page.pattern.split("/").filter(Boolean), parts);
    if (values) return { page, values };
  }
  return null;
}

function matched(pattern, parts) {
  const values = {};
  for (const [place, word] of pattern.entries()) {
    if (word === "*") return { ...values, rest: parts.slice(place) };
    if (place >= parts.length) return null;
    if (word.startsWith(":")) values[word.slice(1)] = parts[place];
    else if (word !== parts[place]) return null;
  }
  return pattern.length === parts.length ? values : null;
}
