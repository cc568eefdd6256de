/** All panels of a place, in their order. */
import { panelsOf } from "./registry.js";
import { html } from "./view.js";

/** @param {{place: string, [property: string]: any}} properties which the panels get as well */
export function Panels({ place, ...properties }) {
  return panelsOf(place, properties).map((panel) => html`<${panel.component} key=${panel.name} ...${properties} />`);
}
