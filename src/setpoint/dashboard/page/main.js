/** Starts the page: loads the pages, then shows the shell. */
import "./pages/workload_pages.js";
import "./pages/history_pages.js";
import { start } from "./shell.js";

start(document.getElementById("page"));
