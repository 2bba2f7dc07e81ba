import type { Request } from "express";

/** Media type of Markdown. */
export const MARKDOWN_TYPE = "text/markdown; charset=utf-8";

/** Whether the reader of a page wants Markdown rather than HTML (RFC 9110 section 12.5.1). */
export const prefersMarkdown = (req: Pick<Request, "accepts">): boolean =>
  req.accepts(["html", "text/markdown"]) === "text/markdown";

/** A text of others on one line of Markdown, where nothing of it is markup. */
export const escaped = (text: string): string =>
  text.replaceAll(/\s+/g, " ").replaceAll(/[\\`*_[\]<>|#!~&]/g, "\\$&");
