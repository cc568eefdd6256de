/** Traces, metrics and structured logs, of all services or of one. */
import { registerPage, registerPanel } from "../registry.js";
import { Tabs } from "../tabs.js";
import { html } from "../view.js";
import { LogsView } from "./logs_view.js";
import { MetricsView } from "./metrics_view.js";
import { TracesView } from "./traces_view.js";

const tabs = (service) => [
  { name: "traces", title: "Traces", content: () => html`<${TracesView} service=${service} />` },
  { name: "metrics", title: "Metrics", content: () => html`<${MetricsView} service=${service} />` },
  { name: "logs", title: "Logs", content: () => html`<${LogsView} service=${service} />` },
];

const TelemetryPage = () => html`<h1 tabindex="-1">Telemetry</h1><${Tabs} tabs=${tabs("")} label="Telemetry" />`;

registerPage({ name: "telemetry", title: "Telemetry", pattern: "telemetry", component: TelemetryPage, order: 60, isLinked: true, keys: "g e" });
registerPanel({
  place: "service", name: "telemetry", title: "Telemetry", order: 70,
  component: ({ name }) => html`<${Tabs} tabs=${tabs(name)} label="Telemetry" parameter="telemetry" />`,
});
