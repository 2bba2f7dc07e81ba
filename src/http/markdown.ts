import type { Request } from "express";

/** Media type of Markdown. */
export const MARKDOWN_MEDIA_TYPE = "text/markdown; charset=utf-8";

/** Whether a client prefers Markdown to HTML (RFC 9110 section 12.5.1). */
export const prefersMarkdown = (req: Pick<Request, "accepts">): boolean =>
  req.accepts(["html", "text/markdown"]) === "text/markdown";
