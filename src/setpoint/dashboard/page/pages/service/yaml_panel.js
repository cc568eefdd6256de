/** The object as YAML, which can be edited, checked by a dry run, and saved field by field. */
import { announce } from "../../announce.js";
import { get, patch, resourcePath, send } from "../../api.js";
import { Problem } from "../../problem.js";
import { registerPanel } from "../../registry.js";
import { isReadOnly } from "../../session.js";
import { isLive, selected } from "../../time.js";
import { html, useEffect, useState } from "../../view.js";
import { conflicts, fieldChanges, fieldName, jsonPatch } from "../../yaml/field_changes.js";
import { editablePart, editableText } from "../../yaml/object_text.js";
import { YamlError, readYaml } from "../../yaml/yaml_reader.js";

const JSON_PATCH = "application/json-patch+json";
const LONGEST_SHOWN = 120;

function YamlPanel({ resource, group, version, namespace, name }) {
  const path = resourcePath({ resource, group, version, namespace, name });
  const [base, setBase] = useState(null);
  const [text, setText] = useState("");
  const [outcome, setOutcome] = useState(null);
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const at = selected.value;
  const load = async () => {
    setError(null);
    setOutcome(null);
    try {
      const shown = editableText(await (await send(path, { accept: "application/yaml", at })).text());
      setBase({ text: shown, object: readYaml(shown) });
      setText(shown);
    } catch (failure) {
      setError(failure);
    }
  };
  useEffect(() => void load(), [path, at]);
  const canEdit = isLive.value && !isReadOnly();
  const isChanged = base !== null && text !== base.text;
  const submit = async (isDry) => {
    setBusy(true);
    setError(null);
    setOutcome(null);
    try {
      const result = await save(path, base.object, text, isDry);
      if (!isDry) {
        await load();
        announce(`Saved ${name}`);
      }
      setOutcome({ ...result, isDry });
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const onKey = (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s") {
      event.preventDefault();
      if (isChanged && canEdit) submit(event.shiftKey);
    }
  };
  if (base === null) return error ? html`<${Problem} error=${error} onRetry=${load} />` : html`<p class="empty" role="status">Reading …</p>`;
  return html`<div class="yaml">
    <textarea aria-label=${`YAML of ${name}`} spellcheck=${false} readonly=${!canEdit} value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${onKey} rows="28"></textarea>
    ${canEdit && html`<div class="row">
      <button disabled=${!isChanged || isBusy} onClick=${() => submit(true)}>Check (dry run)</button>
      <button class="primary" disabled=${!isChanged || isBusy} onClick=${() => submit(false)} aria-keyshortcuts="Control+S">Save</button>
      <button disabled=${isBusy} onClick=${load}>${isChanged ? "Discard the changes" : "Read again"}</button>
      <span class="quiet">Only the fields that you change are saved.</span>
    </div>`}
    ${error && html`<${Problem} error=${error} />`}
    ${outcome && html`<${Outcome} ...${outcome} />`}
  </div>`;
}

/**
 * Saves the changes from a text, or checks them. Other fields keep the values that they have on the server by now. Throws
 * if another client has changed a field as well; then nothing is saved.
 */
async function save(path, base, text, isDry) {
  const edited = readYaml(text);
  if (edited === null || typeof edited !== "object" || Array.isArray(edited)) throw new YamlError("the text is not an object", 1);
  const mine = fieldChanges(base, editablePart(edited));
  if (!mine.length) return { changes: [] };
  const before = editablePart(await get(path, { at: "live" }));
  refuseConflicts(mine, before, base);
  const query = { fieldManager: "setpoint dashboard", fieldValidation: "Strict", ...(isDry ? { dryRun: "All" } : {}) };
  try {
    const after = await patch(path, jsonPatch(mine), { type: JSON_PATCH, query });
    const written = (change) => !["metadata.resourceVersion", "metadata.generation"].includes(fieldName(change.path));
    return { changes: fieldChanges(before, editablePart(after)).filter(written) };
  } catch (failure) {
    // Another client may have written between the read and the patch.
    refuseConflicts(mine, editablePart(await get(path, { at: "live" })), base);
    throw failure;
  }
}

function refuseConflicts(mine, current, base) {
  const both = conflicts(mine, fieldChanges(base, current));
  if (!both.length) return;
  const names = both.map((change) => fieldName(change.path)).join(", ");
  throw new Error(`${names}: also changed by another client since you began; nothing was saved. Copy your change, read again, and repeat it.`);
}

function Outcome({ changes, isDry }) {
  const title = isDry ? "The server accepts the change. Saving would change:" : "Saved. The changed fields:";
  if (!changes.length) return html`<p role="status">${isDry ? "The server accepts the change, which changes no field." : "No field was changed."}</p>`;
  return html`<div role="status"><p>${title}</p>
    <ul class="changes">${changes.map((change) => html`<li key=${fieldName(change.path)}><code>${fieldName(change.path)}</code>
      <del>${shown(change.before)}</del> → <ins>${shown(change.after)}</ins></li>`)}</ul></div>`;
}

const shown = (value) => {
  const text = value === undefined ? "absent" : typeof value === "string" ? value : JSON.stringify(value);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
};

registerPanel({ place: "service", name: "yaml", title: "YAML", order: 80, component: YamlPanel });
