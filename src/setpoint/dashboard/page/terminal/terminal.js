/** A terminal that is attached to a process: its screen, and the input of keyboard and clipboard. */
import { socketAddress } from "../stream.js";
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../view.js";
import { Interpreter } from "./interpreter.js";
import { inputOf } from "./keys.js";
import { BOLD, DIM, INVERSE, ITALIC, Screen, UNDERLINE } from "./screen.js";

const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;
const ERROR = 3;
const RESIZE = 4;
const LINE_HEIGHT = 17;
const BACK = "#11151b";
const TEXT = "#e4e8ee";

/** The connection to a process by the channels of Kubernetes. */
class Attachment {
  constructor(path, columns, rows, onChange) {
    this.screen = new Screen(columns, rows);
    this.interpreter = new Interpreter(this.screen, (text) => this.type(text));
    this.onChange = onChange;
    this.state = "connecting";
    this.decoder = new TextDecoder();
    this.socket = new WebSocket(socketAddress(path, { stdin: "true", stdout: "true", stderr: "true", tty: "true" }), ["v5.channel.k8s.io"]);
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => {
      this.state = "attached";
      this.resize(columns, rows);
      onChange();
    };
    this.socket.onmessage = ({ data }) => this.take(new Uint8Array(data));
    this.socket.onclose = () => {
      if (this.state !== "ended") this.state = this.state === "connecting" ? "refused" : "closed";
      onChange();
    };
  }

  take(data) {
    const body = data.subarray(1);
    if (data[0] === STDOUT || data[0] === STDERR) this.interpreter.write(this.decoder.decode(body, { stream: true }));
    if (data[0] === ERROR) {
      this.state = "ended";
      this.status = JSON.parse(new TextDecoder().decode(body));
    }
    this.onChange();
  }

  send(channel, text) {
    if (this.socket.readyState !== WebSocket.OPEN) return;
    const body = new TextEncoder().encode(text);
    const message = new Uint8Array(body.length + 1);
    message[0] = channel;
    message.set(body, 1);
    this.socket.send(message);
  }

  type(text) {
    this.send(STDIN, text);
  }

  resize(columns, rows) {
    this.screen.resize(columns, rows);
    this.send(RESIZE, JSON.stringify({ Width: columns, Height: rows }));
  }
}

const TEXTS = {
  connecting: "Connecting …",
  attached: "Attached. Keys go to the program; Ctrl+Shift+Escape leaves the terminal.",
  refused: "The server refused to attach: the process may not be running, or you may not attach to it.",
  closed: "The connection was closed.",
};

/** @param {{path: string, label: string}} properties the path of the subresource attach */
export function Terminal({ path, label }) {
  const element = useRef(null);
  const attachment = useRef(null);
  const [version, setVersion] = useState(0);
  const [round, setRound] = useState(0);
  const frame = useRef(0);
  useLayoutEffect(() => {
    const changed = () => {
      frame.current ||= requestAnimationFrame(() => {
        frame.current = 0;
        setVersion((number) => number + 1);
      });
    };
    const box = element.current;
    const size = () => [Math.max(20, Math.floor((box.clientWidth - 18) / cellWidth(box))), Math.max(5, Math.floor((box.clientHeight - 18) / LINE_HEIGHT))];
    const made = new Attachment(path, ...size(), changed);
    attachment.current = made;
    const observer = new ResizeObserver(() => {
      const [columns, rows] = size();
      if (columns !== made.screen.columns || rows !== made.screen.rows) made.resize(columns, rows);
      changed();
    });
    observer.observe(box);
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame.current);
      frame.current = 0;
      made.socket.close();
    };
  }, [path, round]);
  useEffect(() => {
    element.current.scrollTop = element.current.scrollHeight;
  }, [version]);
  const onKey = (event) => {
    if (event.key === "Escape" && event.ctrlKey && event.shiftKey) return element.current.blur();
    const input = inputOf(event, attachment.current.interpreter.isApplication);
    if (!input) return undefined;
    event.preventDefault();
    attachment.current.type(input);
    return undefined;
  };
  const onPaste = (event) => {
    event.preventDefault();
    const text = event.clipboardData.getData("text").replace(/\r?\n/g, "\r");
    attachment.current.type(attachment.current.interpreter.isPasteMarked ? `\x1b[200~${text}\x1b[201~` : text);
  };
  const made = attachment.current;
  const state = made?.state ?? "connecting";
  const text = state === "ended" ? `The program has ended: ${made.status.message || made.status.status}` : TEXTS[state];
  return html`<div>
    <div ref=${element} class="terminal" tabindex="0" role="textbox" aria-multiline="true" aria-label=${label} onKeyDown=${onKey} onPaste=${onPaste}>
      ${made && html`<${Lines} screen=${made.screen} version=${version} />`}
    </div>
    <p class="row"><span class="quiet" role="status">${text}</span>
      ${["refused", "closed", "ended"].includes(state) && html`<button onClick=${() => setRound(round + 1)}>Attach again</button>`}</p>
  </div>`;
}

/** Returns the width of a character. */
function cellWidth(box) {
  const probe = document.createElement("span");
  probe.textContent = "0".repeat(100);
  box.append(probe);
  const width = probe.getBoundingClientRect().width / 100;
  probe.remove();
  return width || 8;
}

function Lines({ screen }) {
  const past = screen.other ? [] : screen.past;
  const cursor = (place) => (screen.isCursorVisible && place === screen.y ? Math.min(screen.x, screen.columns - 1) : -1);
  return [
    ...past.map((line, place) => html`<${Line} key=${`p${place}`} line=${line} cursor=${-1} />`),
    ...screen.lines.map((line, place) => html`<${Line} key=${place} line=${line} cursor=${cursor(place)} />`),
  ];
}

/** One line; a changed line is another array, so that others are not rendered again. */
function Line({ line, cursor }) {
  return useMemo(() => {
    const pieces = [];
    let start = 0;
    for (let place = 1; place <= line.length; place += 1) {
      const isEnd = place === line.length || line[place].style !== line[start].style || place === cursor || place === cursor + 1;
      if (!isEnd) continue;
      const text = line.slice(start, place).map((cell) => cell.text).join("");
      pieces.push(html`<span key=${start} class=${classOf(line[start].style, start === cursor)} style=${styleOf(line[start].style)}>${text}</span>`);
      start = place;
    }
    return html`<div class="terminal-row">${pieces}</div>`;
  }, [line, cursor]);
}

const NAMES = [[BOLD, "bold"], [DIM, "dim"], [ITALIC, "italic"], [UNDERLINE, "underline"]];
const classOf = (style, isCursor) => [...NAMES.filter(([flag]) => style.flags & flag).map(([, name]) => name), isCursor ? "cursor" : ""].join(" ").trim();

function styleOf({ fg, bg, flags }) {
  if (flags & INVERSE) return { color: bg ?? BACK, backgroundColor: fg ?? TEXT };
  return fg === null && bg === null ? undefined : { color: fg ?? undefined, backgroundColor: bg ?? undefined };
}
