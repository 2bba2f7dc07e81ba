import type { Request, Response } from "express";
import { isKnown, strongEtag } from "../../../lib/etag.ts";

/**
 * Sends a text with its strong validator, or only that it has not changed (RFC 9110 sections 8.8.3,
 * 13.1.2 and 15.4.5). To be called with all other header fields set.
 *
 * @param type As Express names media types.
 */
export function sendUnlessKnown(
  req: Request,
  res: Response,
  { type, text }: { readonly type: string; readonly text: string },
): void {
  const etag = strongEtag(text);
  res.set("etag", etag);
  if (res.statusCode === 200 && isKnown(req, etag)) {
    res.status(304).end();
  } else {
    res.type(type).send(text);
  }
}
