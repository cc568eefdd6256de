/** A list of any length of which only the visible rows exist. All rows have the same height. */
import { html, useEffect, useLayoutEffect, useRef, useState } from "./view.js";

// Rows above and below the visible ones, so that scrolling shows no gap.
const MARGIN = 8;
// A browser cannot place elements farther down; the scale of the scroll bar is compressed above.
const TALLEST = 8_000_000;

/**
 * @param {{count: number, rowHeight: number, row: (index: number) => any, label: string, role?: string, class?: string,
 *   header?: any, elementRef?: {current: HTMLElement | null}, onScroll?: (range: {first: number, last: number}) => void,
 *   [attribute: string]: any}} properties
 */
export function VirtualList({ count, rowHeight, row, label, role = "list", header = null, elementRef, onScroll, ...rest }) {
  const own = useRef(null);
  const element = elementRef ?? own;
  const [view, setView] = useState({ top: 0, height: 600 });
  const pending = useRef(0);
  const measure = () => {
    const { scrollTop, clientHeight } = element.current;
    setView((old) => (old.top === scrollTop && old.height === clientHeight ? old : { top: scrollTop, height: clientHeight }));
  };
  useLayoutEffect(() => {
    const observer = new ResizeObserver(measure);
    observer.observe(element.current);
    measure();
    return () => {
      observer.disconnect();
      cancelAnimationFrame(pending.current);
    };
  }, []);
  const shown = useRef({ first: 0, last: 0, view });
  const scrolled = () => {
    cancelAnimationFrame(pending.current);
    pending.current = requestAnimationFrame(() => {
      const { scrollTop, clientHeight } = element.current;
      const { view: last, ...range } = shown.current;
      // A position that returned before its change was seen changes no range, but its reader may wait for it.
      if (scrollTop === last.top && clientHeight === last.height) onScroll?.(range);
      else measure();
    });
  };
  const whole = count * rowHeight;
  const height = Math.min(whole, TALLEST);
  // The position of the rows, which is that of the scroll bar unless the list is too tall.
  const room = Math.max(1, height - view.height);
  const offset = height === whole ? view.top : (Math.min(view.top, room) / room) * (whole - view.height);
  const first = Math.max(0, Math.min(count, Math.floor(offset / rowHeight)) - MARGIN);
  const last = Math.min(count, Math.ceil((offset + view.height) / rowHeight) + MARGIN);
  shown.current = { first, last, view };
  useEffect(() => onScroll?.({ first, last }), [first, last]);
  const shift = first * rowHeight - offset + view.top;
  const rows = [];
  for (let index = first; index < last; index += 1) rows.push(row(index));
  return html`<div ref=${element} class="virtual" role=${role} aria-label=${label} tabindex="0" onScroll=${scrolled} ...${rest}>
    ${header}
    <div class="virtual-space" role="presentation" style=${{ height: `${height}px` }}>
      <div class="virtual-rows" role=${role === "grid" ? "rowgroup" : "presentation"} style=${{ transform: `translateY(${shift}px)` }}>${rows}</div>
    </div>
  </div>`;
}
