import { render as draw } from "preact";
import "../style/index.css";
import { chosenTheme, printLight, showTheme } from "../components/theme";
import { App } from "./App";
import "./app.css";
import { restorePlace } from "./routing/frame";

const PLACE = "timesink-app";
// This module is BASE/static/app.js, whatever prefix or frame it is served in.
const here = import.meta.url;
const base = new URL("..", here);

/** Shows the app; TensorBoard calls it in the frame of its tab, which is empty. */
export async function render(): Promise<void> {
  // TensorBoard's frame has one, and addresses that are only a hash would leave the page.
  document.querySelector("base")?.remove();
  restorePlace();
  showTheme(chosenTheme());
  printLight();
  addStyles();
  draw(<App base={base} />, placeToDraw());
}

function placeToDraw(): HTMLElement {
  const existing = document.getElementById(PLACE);
  existing?.replaceChildren();
  if (existing) return existing;
  const place = document.createElement("div");
  place.id = PLACE;
  document.body.append(place);
  return place;
}

function addStyles(): void {
  const href = new URL("static/app.css", base).href;
  const links = [...document.querySelectorAll<HTMLLinkElement>("link[rel=stylesheet]")];
  if (links.some((link) => link.href === href)) return;
  const link = document.createElement("link");
  Object.assign(link, { rel: "stylesheet", href });
  document.head.append(link);
}

if (document.getElementById(PLACE)) void render();
