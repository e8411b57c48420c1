// The report: one file that holds its document and this program.

import "../style/index.css";
import { render } from "preact";
import { chosenTheme, printLight, showTheme } from "../components/theme";
import { readDocument } from "./document";
import { Report } from "./Report";

showTheme(chosenTheme());
printLight();
const read = readDocument(document.getElementById("timesink-document")?.textContent);
// What stands in the page for readers without JavaScript gives way.
document.body.replaceChildren();
render(<Report read={read} />, document.body);
