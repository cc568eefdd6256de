/** The page of the merged logs of all services. */
import { useCollection } from "../../collection.js";
import { LogView } from "../../logs/log_view.js";
import { filterOf } from "../../logs/log_filter.js";
import { registerPage } from "../../registry.js";
import { SUMMARIES } from "../../summaries.js";
import { html, useEffect, useMemo } from "../../view.js";
import { processKey } from "./start_page.js";
import { markSeen } from "./unread_errors.js";

function LogsPage() {
  const summaries = useCollection(SUMMARIES);
  const version = summaries.version.value;
  const names = useMemo(() => [...new Set([...summaries.items.values()].map(({ object }) => object.name))].sort(), [version, summaries]);
  const refresh = useMemo(() => processKey([...summaries.items.values()]), [version, summaries]);
  const shown = filterOf().services.join() || names.join();
  useEffect(() => {
    for (const name of shown.split(",").filter(Boolean)) markSeen(name);
  }, [shown]);
  return html`<h1 tabindex="-1">Logs</h1><${LogView} services=${names} refresh=${refresh} />`;
}

registerPage({ name: "logs", title: "Logs", pattern: "logs", component: LogsPage, order: 20, isLinked: true, keys: "g l" });
