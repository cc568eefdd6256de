/** A table with virtual rows, sorting and keyboard operation. */
import { VirtualList } from "./virtual_list.js";
import { html, useEffect, useId, useMemo, useRef, useState } from "./view.js";

const ROW_HEIGHT = 40;
// Taller tables scroll.
const MOST_VISIBLE = 24;

/**
 * @typedef {{name: string, title: string, value: (row: any) => any, cell?: (row: any) => any, width?: string,
 *   isWide?: boolean, align?: "end"}} Column `value` is sorted by and shown, unless `cell` shows something else; columns
 *   with `isWide` are left out on narrow screens.
 * @param {{columns: Column[], rows: any[], rowKey: (row: any) => string, label: string, onOpen?: (row: any) => void,
 *   order?: {name: string, isReversed: boolean}, empty?: string, rowClass?: (row: any) => string, rowHeight?: number}} properties
 */
export function Table({ columns, rows, rowKey, label, onOpen, order: given, empty = "No rows", rowClass, rowHeight = ROW_HEIGHT }) {
  const [order, setOrder] = useState(given ?? null);
  const [active, setActive] = useState(-1);
  const id = useId();
  const element = useRef(null);
  const sorted = useMemo(() => inOrder(rows, columns, order), [rows, order]);
  const current = Math.min(active, sorted.length - 1);
  useEffect(() => {
    if (current >= 0) intoView(element.current, current, rowHeight);
  }, [current]);
  const onKey = (event) => {
    if (event.target !== event.currentTarget) return;
    const page = Math.max(1, Math.floor(event.currentTarget.clientHeight / rowHeight) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in moves && sorted.length) {
      event.preventDefault();
      setActive(Math.max(0, Math.min(sorted.length - 1, current + moves[event.key])));
    } else if (event.key === "Enter" && current >= 0 && onOpen) {
      event.preventDefault();
      onOpen(sorted[current]);
    }
  };
  const sortBy = (name) => setOrder(order?.name === name ? { name, isReversed: !order.isReversed } : { name, isReversed: false });
  const header = html`<div class="table-head" role="rowgroup">
    <div class="table-row" role="row" aria-rowindex="1">${columns.map(
      (column) => html`<div role="columnheader" key=${column.name} class=${classOf(column)} aria-sort=${sortOf(column, order)}>
        <button class="plain" onClick=${() => sortBy(column.name)}>${column.title}<span aria-hidden="true">${mark(column, order)}</span></button>
      </div>`,
    )}</div>
  </div>`;
  const row = (index) => {
    const item = sorted[index];
    const name = `table-row ${index === current ? "active" : ""} ${rowClass?.(item) ?? ""}`;
    const open = (event) => !event.target.closest("a, button, input, select") && (setActive(index), onOpen?.(item));
    return html`<div role="row" key=${rowKey(item)} id=${`${id}-${index}`} class=${name} aria-rowindex=${index + 2}
      aria-selected=${index === current} onClick=${open} style=${{ height: `${rowHeight}px` }}>${columns.map(
        (column) => html`<div role="gridcell" key=${column.name} class=${classOf(column)}>${column.cell ? column.cell(item) : textOf(column.value(item))}</div>`,
      )}</div>`;
  };
  const style = {
    "--columns": columns.map(widthOf).join(" "),
    "--narrow-columns": columns.filter((column) => !column.isWide).map(widthOf).join(" "),
    height: `${(Math.min(sorted.length, MOST_VISIBLE) + 1) * rowHeight + 2}px`,
  };
  return html`<div class="table" style=${style}>
    <${VirtualList} elementRef=${element} count=${sorted.length} rowHeight=${rowHeight} row=${row} label=${label} role="grid"
      header=${header} aria-rowcount=${sorted.length + 1} onKeyDown=${onKey}
      aria-activedescendant=${current >= 0 ? `${id}-${current}` : undefined} />
    ${sorted.length === 0 && html`<p class="empty">${empty}</p>`}
  </div>`;
}

const widthOf = (column) => column.width ?? "minmax(0, 1fr)";
const classOf = (column) => `${column.isWide ? "wide-only" : ""} ${column.align === "end" ? "at-end" : ""}`;
const sortOf = (column, order) => (order?.name !== column.name ? "none" : order.isReversed ? "descending" : "ascending");
const mark = (column, order) => (order?.name !== column.name ? "" : order.isReversed ? " ▾" : " ▴");
const textOf = (value) => (value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));
const collator = new Intl.Collator("en", { numeric: true });

function inOrder(rows, columns, order) {
  const column = order && columns.find((each) => each.name === order.name);
  if (!column) return rows;
  const sign = order.isReversed ? -1 : 1;
  // Values are read once each: a comparison of 10,000 rows reads them over a hundred thousand times.
  const keyed = rows.map((row) => ({ row, value: column.value(row) }));
  keyed.sort((one, other) => sign * compare(one.value, other.value));
  return keyed.map(({ row }) => row);
}

function compare(one, other) {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return collator.compare(textOf(one), textOf(other));
}

/** Scrolls a row into view below the header, which stays in place. */
function intoView(element, index, rowHeight) {
  const top = index * rowHeight;
  const room = element.clientHeight - rowHeight;
  if (top < element.scrollTop) element.scrollTop = top;
  else if (top + rowHeight > element.scrollTop + room) element.scrollTop = top + rowHeight - room;
}
