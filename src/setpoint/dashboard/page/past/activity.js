/** The writes over the time of the slider, as bars; a click shows the page at that time. */
import { clock } from "../format.js";
import { html } from "../view.js";
import { density } from "./playback.js";
import { playback, seekTo } from "./time_model.js";

const PARTS = 80;
const HEIGHT = 48;

export function Activity() {
  const { entries } = playback.value;
  if (entries.length < 2) return null;
  const counts = density(entries, PARTS);
  const most = Math.max(...counts);
  const first = entries[0].time;
  const span = entries.at(-1).time - first;
  const seek = (event) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const time = first + ((event.clientX - left) / width) * span;
    const place = entries.findIndex((entry) => entry.time > time);
    seekTo(place < 0 ? entries.length - 1 : Math.max(0, place - 1));
  };
  // The slider in the bar does the same for the keyboard.
  return html`<figure class="activity">
    <svg viewBox=${`0 0 ${PARTS} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${`${entries.length} writes from ${clock(first)} to ${clock(first + span)}`} onClick=${seek}>
      ${counts.map((count, place) => count > 0 && html`<rect key=${place} x=${place} width="0.8" y=${HEIGHT - Math.max(2, (count / most) * HEIGHT)} height=${Math.max(2, (count / most) * HEIGHT)} />`)}
    </svg>
    <figcaption class="quiet"><span>${clock(first).slice(0, 8)}</span><span>${entries.length} writes</span><span>${clock(first + span).slice(0, 8)}</span></figcaption>
  </figure>`;
}
