/** Imports the pages of the past, the objects and the telemetry, which register themselves. */
import "../past/time_bar.js";
import "../past/time_page.js";
import "../past/service_panel.js";
import "../why/why_view.js";
import "../objects/kinds_page.js";
import "../objects/table_page.js";
import "../objects/object_page.js";
import "../objects/controllers_page.js";
import "../objects/reconcile_page.js";
import "../telemetry/telemetry_page.js";
import "../telemetry/trace_page.js";
