/** The bar with the time slider, on every page. */
import { clock } from "../format.js";
import { registerBar, registerCommand } from "../registry.js";
import { href } from "../route.js";
import { isLive } from "../time.js";
import { html, useEffect } from "../view.js";
import { SPEEDS } from "./playback.js";
import {
  followAddress, live, oldest, playback, press, problem, readEarlier, refresh, seekTo, setSpeed, stepBy, togglePlaying,
} from "./time_model.js";

function TimeBar() {
  const model = playback.value;
  const { entries, position, playing, speed } = model;
  useEffect(followAddress, []);
  const entry = isLive.value ? entries.at(-1) : entries[position];
  const text = isLive.value ? "Newest state" : entry ? `Revision ${entry.revision} at ${clock(entry.time)}` : "The past";
  const onKey = (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (press(event.key)) {
      event.preventDefault();
      event.stopPropagation();
    }
  };
  const hasEarlier = entries.length > 0 && entries[0].revision > Math.max(1, oldest.value);
  return html`<section class=${`time-bar ${isLive.value ? "" : "past"}`} aria-label="Time" onFocusIn=${refresh} onPointerEnter=${refresh}>
    <div class="time-buttons">
      <button onClick=${() => stepBy(-1)} aria-label="Previous revision" aria-keyshortcuts="[">◂</button>
      <button onClick=${togglePlaying} aria-label=${playing ? "Pause" : "Play"} aria-keyshortcuts="p">${playing ? "❚❚" : "▶"}</button>
      <button onClick=${() => stepBy(1)} disabled=${isLive.value} aria-label="Next revision" aria-keyshortcuts="]">▸</button>
      <label class="hidden-text" for="speed">Speed of the playback</label>
      <select id="speed" value=${speed} onChange=${(event) => setSpeed(Number(event.target.value))}>
        ${SPEEDS.map((each) => html`<option key=${each} value=${each}>${each}×</option>`)}
      </select>
    </div>
    <input class="time-slider" type="range" min="0" max=${Math.max(1, entries.length - 1)} value=${isLive.value ? Math.max(1, entries.length - 1) : position}
      aria-label="Revision" aria-valuetext=${entry ? `${text}, ${entry.text}` : text} disabled=${problem.value !== null && !entries.length}
      onInput=${(event) => seekTo(Number(event.target.value))} onKeyDown=${onKey} />
    <div class="time-text">
      <a href=${href(["time"])} title=${entry?.text}>${text}</a>
      ${hasEarlier && html`<button class="plain" onClick=${readEarlier}>Earlier</button>`}
      <button class="live" aria-pressed=${isLive.value} onClick=${live} aria-keyshortcuts="l">Live</button>
    </div>
    ${problem.value && html`<p class="time-problem" role="status">${problem.value.message}</p>`}
  </section>`;
}

registerBar({ name: "time", order: 1, component: TimeBar });
registerCommand({ title: "Previous revision", keys: "[", group: "time", run: () => stepBy(-1) });
registerCommand({ title: "Next revision", keys: "]", group: "time", run: () => stepBy(1) });
registerCommand({ title: "Play or pause the past", keys: "p", group: "time", run: togglePlaying });
registerCommand({ title: "Show the newest state", keys: "l", group: "time", run: live });
