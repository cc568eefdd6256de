/** The page of the time: the changes between two moments, the timeline of the app, and its runs. */
import { registerPage } from "../registry.js";
import { Tabs } from "../tabs.js";
import { html } from "../view.js";
import { AppDifference } from "./app_difference_view.js";
import { RunsView } from "./runs_view.js";
import { TimelineView } from "./timeline_view.js";

const TABS = [
  { name: "changes", title: "Changes", content: () => html`<${AppDifference} />` },
  { name: "timeline", title: "Timeline", content: () => html`<${TimelineView} />` },
  { name: "runs", title: "Runs", content: () => html`<${RunsView} />` },
];

const TimePage = () => html`<h1 tabindex="-1">Time</h1><${Tabs} tabs=${TABS} label="Time" />`;

registerPage({ name: "time", title: "Time", pattern: "time", component: TimePage, order: 20, isLinked: true, keys: "g t" });
