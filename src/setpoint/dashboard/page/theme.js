/** The theme: light, dark, or that of the system. */
import { signal } from "./view.js";

const KEY = "setpoint-theme";
export const THEMES = ["system", "light", "dark"];

export const theme = signal(stored());

function stored() {
  try {
    const name = localStorage.getItem(KEY);
    return THEMES.includes(name) ? name : "system";
  } catch {
    return "system"; // a browser may forbid storage
  }
}

/** Applies a theme and remembers it. */
export function setTheme(name) {
  theme.value = name;
  document.documentElement.dataset.theme = name;
  try {
    localStorage.setItem(KEY, name);
  } catch {
    // The theme lasts until the page is closed.
  }
}

export const nextTheme = () => setTheme(THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]);
