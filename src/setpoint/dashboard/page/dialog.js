/** A modal dialog: the browser keeps the focus inside, and Escape closes it. */
import { html, useEffect, useId, useRef } from "./view.js";

/** @param {{title: string, onClose: () => void, children?: any, isWide?: boolean}} properties */
export function Dialog({ title, onClose, children, isWide = false }) {
  const element = useRef(null);
  const label = useId();
  useEffect(() => {
    const before = document.activeElement;
    const dialog = element.current;
    dialog.showModal();
    return () => {
      dialog.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const onBackdrop = (event) => event.target === element.current && onClose();
  const onCancel = (event) => {
    event.preventDefault();
    onClose();
  };
  return html`<dialog ref=${element} class=${isWide ? "wide" : ""} aria-labelledby=${label} onCancel=${onCancel} onMouseDown=${onBackdrop}>
    <header>
      <h2 id=${label}>${title}</h2>
      <button class="plain" aria-label="Close" onClick=${onClose}>×</button>
    </header>
    <div class="content">${children}</div>
  </dialog>`;
}

/** A question before an action. */
export function Confirm({ title, text, action, onConfirm, onClose }) {
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <p>${text}</p>
    <footer>
      <button onClick=${onClose}>Cancel</button>
      <button class="primary" onClick=${() => (onClose(), onConfirm())}>${action}</button>
    </footer>
  <//>`;
}
