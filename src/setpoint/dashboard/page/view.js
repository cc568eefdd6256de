/** The names of the vendored libraries that components use. */
import htm from "./vendor/htm.js";
import { Fragment, createContext, h, render } from "./vendor/preact.js";

export { Fragment, createContext, render };
export { useCallback, useContext, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "./vendor/hooks.js";
export { batch, computed, effect, signal, untracked, useComputed, useSignal, useSignalEffect } from "./vendor/signals.js";

/** Elements as a tagged template: html`<p class="note">${text}</p>`. */
export const html = htm.bind(h);
