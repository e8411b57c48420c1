import { render as draw } from "preact";
export async function render(): Promise<void> {
  draw(<p>app</p>, document.body);
}
