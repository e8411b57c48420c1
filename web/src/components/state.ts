// View state of tables and trees; the app keeps it in the address of the page.

import { createContext } from "preact";
import { useContext, useState } from "preact/hooks";
import type { Clock } from "../document/types";

export interface TableState {
  /** Undefined as the document says, null for the order of the rows. */
  sort?: { key: string; descending: boolean } | null | undefined;
  search?: string | undefined;
  /** Keys of the columns shown; undefined for the main ones. */
  columns?: string[] | undefined;
}

export interface IcicleState {
  /** Node that fills the width; undefined for the whole tree. */
  node?: number | undefined;
  search?: string | undefined;
}

export interface DocumentState {
  /** By the id of the block. */
  tables?: Record<string, TableState>;
  icicles?: Record<string, IcicleState>;
  /** The clock; undefined for the default of the document. */
  clock?: Clock | undefined;
}

export interface StateStore {
  state: DocumentState;
  onState(state: DocumentState): void;
}

/** Set by `DocumentView` where the state is kept outside; null where each block keeps its own. */
export const StateContext = createContext<StateStore | null>(null);

type BlockStates = { tables: TableState; icicles: IcicleState };

/** The state of one block: from the context, or else local. */
export function useBlockState<Group extends keyof BlockStates>(
  group: Group,
  id: string,
): [BlockStates[Group], (next: BlockStates[Group]) => void] {
  const store = useContext(StateContext);
  const [localState, setLocalState] = useState<BlockStates[Group]>({});
  if (!store) return [localState, setLocalState];
  const of = (store.state[group] ?? {}) as Record<string, BlockStates[Group]>;
  const change = (next: BlockStates[Group]) =>
    store.onState({ ...store.state, [group]: { ...of, [id]: next } });
  return [of[id] ?? {}, change];
}
