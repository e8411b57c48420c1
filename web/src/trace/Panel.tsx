import type { ComponentChildren } from "preact";
import { Icon } from "../components/Icon";

export interface Tab {
  id: string;
  title: string;
  content: ComponentChildren;
  onClose(): void;
}

interface PanelProps {
  tabs: Tab[];
  open: string;
  onOpen(id: string): void;
}

/** Details of the selection, below the timeline. */
export function Panel({ tabs, open, onOpen }: PanelProps) {
  const current = tabs.find((tab) => tab.id === open) ?? tabs[0];
  if (!current) return null;
  return (
    <section class="trace-panel" aria-label="Selection">
      <div class="tabs">
        <div role="tablist">
          {tabs.map((tab) => (
            <button
              key={tab.id}
              type="button"
              role="tab"
              aria-selected={tab === current}
              onClick={() => onOpen(tab.id)}
            >
              {tab.title}
            </button>
          ))}
        </div>
        <button
          type="button"
          class="icon-button close"
          aria-label="Close"
          onClick={current.onClose}
        >
          <Icon name="close" />
        </button>
      </div>
      <div class="content" role="tabpanel">
        {current.content}
      </div>
    </section>
  );
}
