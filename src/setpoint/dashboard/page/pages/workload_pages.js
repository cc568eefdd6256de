/** Imports the pages of the running app, which register themselves. */
import "./service/attempt_panel.js";
import "./service/environment_panel.js";
import "./service/event_panel.js";
import "./service/log_panel.js";
import "./service/probe_panel.js";
import "./service/reference_panel.js";
import "./service/service_page.js";
import "./service/terminal_panel.js";
import "./service/usage_panel.js";
import "./service/yaml_panel.js";
import "./start/logs_page.js";
import "./start/start_page.js";
