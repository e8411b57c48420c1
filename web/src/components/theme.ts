// Light, dark or as the system says; kept for the next visit.

export type Theme = "auto" | "light" | "dark";

const KEY = "timesink-theme";

export function chosenTheme(): Theme {
  try {
    const stored = localStorage.getItem(KEY);
    return stored === "light" || stored === "dark" ? stored : "auto";
  } catch {
    return "auto"; // A page opened from disk may have no storage.
  }
}

/** Shows and keeps a theme; drawings listen to `themechange`. */
export function chooseTheme(theme: Theme): void {
  showTheme(theme);
  try {
    if (theme === "auto") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch {
    // It holds for this visit.
  }
}

export function showTheme(theme: Theme): void {
  const root = document.documentElement;
  if (theme === "auto") delete root.dataset.theme;
  else root.dataset.theme = theme;
  root.dispatchEvent(new CustomEvent("themechange"));
}

/** Shows light colours while the page is printed, drawings included. */
export function printLight(): void {
  addEventListener("beforeprint", () => showTheme("light"));
  addEventListener("afterprint", () => showTheme(chosenTheme()));
}

/** Calls back when colours change, by choice or by the system; returns how to stop. */
export function onThemeChange(changed: () => void): () => void {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  root.addEventListener("themechange", changed);
  system.addEventListener("change", changed);
  return () => {
    root.removeEventListener("themechange", changed);
    system.removeEventListener("change", changed);
  };
}

/** The value of a colour of `tokens.css`, for canvases. */
export function colourOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
