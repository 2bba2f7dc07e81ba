import type { IncomingMessage } from "node:http";
import express, { type Request } from "express";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clientAddress } from "../../../src/http/request-context.ts";

/** A request from an address, as Node.js passes it to a handler. */
const requestFrom = (remoteAddress: string, forwarded: string | undefined): IncomingMessage =>
  ({
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded },
  }) as unknown as IncomingMessage;

/** Returns the client address that Express determines. */
function found(req: IncomingMessage, proxyHops: number): string | undefined {
  const app = express();
  app.set("trust proxy", proxyHops);
  const known: Request = Object.assign(Object.create(app.request), req);
  return known.ip;
}

const part = fc.constantFrom("", " ", "192.0.2.1", "2001:db8::1", "unknown", " 192.0.2.2 ", "a b");

describe("the client's IP address", () => {
  it("is the same as determined by Express, behind any number of proxies", () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 5 }), fc.nat(4), (parts, proxyHops) => {
        const req = requestFrom("127.0.0.1", parts.length === 0 ? undefined : parts.join(","));
        expect(clientAddress(req, proxyHops)).toBe(found(req, proxyHops));
      }),
      { seed: 1, numRuns: 500 },
    );
  });
});
