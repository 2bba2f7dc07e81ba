import type { IncomingMessage } from "node:http";

/** A request; a router of Express may have cut something off its address. */
type Asked = Pick<IncomingMessage, "url"> & { readonly originalUrl?: string };

/** The whole query of a request, whatever its size; only text, no objects or lists. */
export function queryOf({ url = "", originalUrl = url }: Asked): URLSearchParams {
  const start = originalUrl.indexOf("?");
  return new URLSearchParams(start < 0 ? "" : originalUrl.slice(start + 1));
}
