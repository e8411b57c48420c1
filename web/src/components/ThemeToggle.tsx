import { useEffect, useState } from "preact/hooks";
import { Icon, type IconName } from "./Icon";
import { chooseTheme, chosenTheme, showTheme, type Theme } from "./theme";

const NEXT: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };
const ICON: Record<Theme, IconName> = { auto: "auto", light: "sun", dark: "moon" };

/** Goes through the themes: as the system says, light, dark. */
export function ThemeToggle() {
  const [theme, setTheme] = useState(chosenTheme);
  useEffect(() => showTheme(theme), [theme]);
  const choose = () => {
    chooseTheme(NEXT[theme]);
    setTheme(NEXT[theme]);
  };
  const label = `Theme: ${theme}. Change to ${NEXT[theme]}.`;
  return (
    <button
      type="button"
      class="icon-button theme-toggle"
      onClick={choose}
      aria-label={label}
      title={label}
    >
      <Icon name={ICON[theme]} />
    </button>
  );
}
