import type { Document } from "../document/types";

const SCHEMA = "timesink/document/1";

/** A document, or the sentence that says why there is none. */
export type ReadResult = { document: Document } | { problem: string };

/** Reads the document a report holds. */
export function readDocument(text: string | null | undefined): ReadResult {
  if (!text?.trim()) return { problem: "This page holds no document: the report was cut off." };
  try {
    const document = JSON.parse(text) as Partial<Document> | null;
    if (document?.schema === SCHEMA && Array.isArray(document.sections)) {
      return { document: document as Document };
    }
    return { problem: `This page cannot show ${String(document?.schema ?? "what it holds")}.` };
  } catch {
    return { problem: "The document in this page cannot be read: the report was damaged." };
  }
}
