/** Tabs whose selection is a parameter of the address. */
import { change, route } from "./route.js";
import { html, useId } from "./view.js";

/** @param {{tabs: {name: string, title: any, content: () => any}[], label: string, parameter?: string}} properties */
export function Tabs({ tabs, label, parameter = "tab" }) {
  const id = useId();
  const named = route.value.query[parameter];
  const current = tabs.find((tab) => tab.name === named) ?? tabs[0];
  if (!current) return null;
  const select = (tab) => change({ [parameter]: tab === tabs[0] ? "" : tab.name }, { replace: true });
  const onKey = (event) => {
    const place = tabs.indexOf(current);
    const next = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const tab = tabs[(next + tabs.length) % tabs.length];
    select(tab);
    document.getElementById(`${id}-${tab.name}`)?.focus();
  };
  return html`<div class="tabs" role="tablist" aria-label=${label} onKeyDown=${onKey}>${tabs.map(
      (tab) => html`<button role="tab" key=${tab.name} id=${`${id}-${tab.name}`} aria-selected=${tab === current} aria-controls=${`${id}-panel`}
        tabindex=${tab === current ? 0 : -1} onClick=${() => select(tab)}>${tab.title}</button>`,
    )}</div>
    <div role="tabpanel" id=${`${id}-panel`} aria-labelledby=${`${id}-${current.name}`} key=${current.name}>${current.content()}</div>`;
}
