/** The frame of every page: navigation, bars, the current page, the palette and the help. */
import { LiveRegions, announce } from "./announce.js";
import { send } from "./api.js";
import { connection } from "./connection.js";
import { Dialog } from "./dialog.js";
import { Connecting, LoginRequired, readSession } from "./login.js";
import { Palette, isPaletteOpen } from "./palette.js";
import { pageOf, registerCommand, registeredBars, registeredPages } from "./registry.js";
import { go, href, route } from "./route.js";
import { isReadOnly, loggedOut, session } from "./session.js";
import { listen, shortcuts } from "./shortcuts.js";
import { THEMES, nextTheme, setTheme, theme } from "./theme.js";
import { html, render, signal, useEffect, useRef } from "./view.js";

const isHelpOpen = signal(false);
const open = (page) => go(page.pattern.split("/").filter((word) => word && !word.startsWith(":") && word !== "*"));

/** Shows the page in an element. */
export function start(element) {
  setTheme(theme.value);
  registerCommand({ title: "Show all commands", keys: "Ctrl+k", run: () => (isPaletteOpen.value = true) });
  registerCommand({ title: "Show the keyboard shortcuts", keys: "?", run: () => (isHelpOpen.value = true) });
  registerCommand({ title: "Change the theme", keys: "t", run: nextTheme });
  registerCommand({ title: "Log out", run: logOut });
  listen(() => shortcuts(open));
  element.replaceChildren();
  render(html`<${Shell} />`, element);
  readSession();
}

async function logOut() {
  await send("/dashboard/logout", { method: "POST" });
  loggedOut();
}

function Shell() {
  if (session.value === null) return html`<${Connecting} />`;
  if (!session.value.user) return html`<${LoginRequired} />`;
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <${Header} />
    ${registeredBars.value.map((bar) => html`<${bar.component} key=${bar.name} />`)}
    <${Current} />
    ${isPaletteOpen.value && html`<${Palette} open=${open} />`}
    ${isHelpOpen.value && html`<${Help} />`}
    <${LiveRegions} />`;
}

function skip(event) {
  event.preventDefault();
  document.querySelector("#main h1")?.focus();
}

function Header() {
  const current = pageOf(route.value.parts)?.page;
  const { app, user } = session.value;
  return html`<header class="top">
    <a class="name" href=${href([])}>${app || "Setpoint"}</a>
    <nav aria-label="Pages">${registeredPages.value
      .filter((page) => page.isLinked)
      .map((page) => html`<a key=${page.name} href=${href(page.pattern.split("/").filter(Boolean))} aria-current=${page === current ? "page" : undefined}>${page.title}</a>`)}
    </nav>
    <div class="tools">
      ${isReadOnly() && html`<span class="badge">read-only</span>`}
      <span class=${`connection ${connection.value}`} role="status" title=${`Logged in as ${user}`}>${connection.value === "lost" ? "Reconnecting …" : "Connected"}</span>
      <button onClick=${() => (isPaletteOpen.value = true)} aria-keyshortcuts="Control+K">Commands <kbd>Ctrl K</kbd></button>
      <label class="hidden-text" for="theme">Theme</label>
      <select id="theme" value=${theme.value} onChange=${(event) => setTheme(event.target.value)}>
        ${THEMES.map((name) => html`<option key=${name} value=${name}>${name[0].toUpperCase() + name.slice(1)}</option>`)}
      </select>
      <button onClick=${() => (isHelpOpen.value = true)} aria-label="Keyboard shortcuts" aria-keyshortcuts="?">?</button>
    </div>
  </header>`;
}

/** The page of the path. After a navigation its heading has the focus and its title is announced. */
function Current() {
  const found = pageOf(route.value.parts);
  const isFirst = useRef(true);
  const { path } = route.value;
  useEffect(() => {
    const heading = document.querySelector("#main h1");
    const title = heading?.textContent ?? found?.page.title ?? "";
    const { app } = session.value;
    document.title = [title, app, "Setpoint"].filter((text, place, all) => text && all.indexOf(text) === place).join(" · ");
    if (!isFirst.current) {
      heading?.focus();
      announce(title);
    }
    isFirst.current = false;
  }, [path]);
  if (!found) {
    return html`<main id="main"><h1 tabindex="-1">Not found</h1><p>The address names no page. <a href=${href([])}>Open the start page</a></p></main>`;
  }
  const { page, values } = found;
  return html`<main id="main"><${page.component} key=${path} ...${values} /></main>`;
}

function Help() {
  const known = shortcuts(open);
  return html`<${Dialog} title="Keyboard shortcuts" onClose=${() => (isHelpOpen.value = false)}>
    <dl class="keys">${known.map((each) => html`<div key=${each.keys}><dt>${each.keys.split(" ").map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${each.title}</dd></div>`)}
      <div><dt><kbd>↑</kbd> <kbd>↓</kbd> <kbd>Enter</kbd></dt><dd>Select and open a row of a table</dd></div>
    </dl>
  <//>`;
}
