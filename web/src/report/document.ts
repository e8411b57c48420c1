import type { Document } from "../document/types";

const SCHEMA = "timesink/document/1";

/** A document, or the sentence that says why there is none. */
export type ReadResult = { document: Document } | { problem: string };

/** Reads the document a report holds. */
export function readDocument(text: string | null | undefined): ReadResult {
  if (!text?.trim()) return { problem: "This report holds no data: the file is incomplete." };
  try {
    const document = JSON.parse(text) as Partial<Document> | null;
    if (document?.schema === SCHEMA && Array.isArray(document.sections)) {
      return { document: document as Document };
    }
    return {
      problem: `This report cannot be shown: unknown format ${String(document?.schema ?? "")}.`,
    };
  } catch {
    return { problem: "The data of this report cannot be read: the file is damaged." };
  }
}
