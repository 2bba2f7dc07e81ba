import type { IncomingMessage, ServerResponse } from "node:http";
import { requestIdFrom } from "../telemetry/request-id.ts";

/** Header field with which a caller can name a request, and learns its name. */
const REQUEST_ID = "x-request-id";

/** Names a request, on its answer too. @returns The name. */
export function nameRequest(req: IncomingMessage, res: ServerResponse): string {
  const requestId = requestIdFrom(req.headers[REQUEST_ID]);
  res.setHeader(REQUEST_ID, requestId);
  return requestId;
}

/** The name that an answer carries; `undefined` where none was given. */
export const requestIdOn = (res: ServerResponse): string | undefined =>
  res.getHeader(REQUEST_ID)?.toString();
