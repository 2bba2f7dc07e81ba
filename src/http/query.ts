import type { Request } from "express";

/** The whole query of a request, whatever its size; only text, no objects or lists. */
export function queryOf({ originalUrl }: Pick<Request, "originalUrl">): URLSearchParams {
  const start = originalUrl.indexOf("?");
  return new URLSearchParams(start < 0 ? "" : originalUrl.slice(start + 1));
}
