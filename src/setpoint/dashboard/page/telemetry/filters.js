/** Fields of filters whose values are parameters of the address. */
import { change, route } from "../route.js";
import { html, useId } from "../view.js";
import { useServices } from "./reads.js";

export function ServiceFilter() {
  const id = useId();
  const names = useServices();
  const { service = "" } = route.value.query;
  const known = service && !names.includes(service) ? [service, ...names] : names;
  return html`<label for=${id}>Service</label>
    <select id=${id} value=${service} onChange=${(event) => change({ service: event.target.value })}>
      <option value="">all</option>${known.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
    </select>`;
}

export function TextFilter({ name, title, placeholder = "" }) {
  const id = useId();
  return html`<label for=${id}>${title}</label>
    <input id=${id} type="search" placeholder=${placeholder} value=${route.value.query[name] ?? ""}
      onChange=${(event) => change({ [name]: event.target.value }, { replace: true })} />`;
}
