/** The current time for texts such as "3 min", which changes while the page is visible. */
import { signal } from "./view.js";

const STEP_MILLISECONDS = 10_000;

export const now = signal(Date.now());

function tick() {
  if (document.visibilityState === "visible") now.value = Date.now();
}
setInterval(tick, STEP_MILLISECONDS);
addEventListener("visibilitychange", tick);
