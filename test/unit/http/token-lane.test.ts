import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createTokenLane, TOKEN_PATH } from "../../../src/http/oauth/token-lane.ts";
import { sendRaw } from "../../support/raw.ts";

const FORM = "application/x-www-form-urlencoded";

const MOST_BYTES = 20;

/** Says who answers a request. */
async function startLane() {
  const lane = createTokenLane({
    answer: async ({ res, form }) => void res.end(`lane ${form.get("a")}`),
    ...{ maxBytes: MOST_BYTES, proxyHops: 0 },
  });
  const express = createServer(
    lane.before(
      (_req, res) => void res.end("express"),
      async () => {},
    ),
  ).listen(0, "127.0.0.1");
  await once(express, "listening");
  onTestFinished(() => void express.close());
  const { port } = express.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}

const usual = { path: TOKEN_PATH, method: "POST", type: FORM, body: "a=b" };

it.each([
  ["a form in the usual form", {}, "lane b"],
  ["one with the usual character set", { type: `${FORM}; charset=UTF-8` }, "lane b"],
  ["one as long as may be", { body: "a=".padEnd(MOST_BYTES, "c") }, `lane ${"c".repeat(18)}`],
  ["one that is longer", { body: "a=".padEnd(MOST_BYTES + 1, "c") }, "express"],
  ["none", { body: "" }, "express"],
  ["one in another character set", { type: `${FORM}; charset=utf-16` }, "express"],
  ["another type", { type: "application/json" }, "express"],
  ["another method", { method: "PUT" }, "express"],
  ["another place", { path: `${TOKEN_PATH}/` }, "express"],
  ["an address with a query", { path: `${TOKEN_PATH}?a=c` }, "express"],
  ["a body of no known length", { more: { "transfer-encoding": "chunked" } }, "express"],
  ["a body that is encoded", { more: { "content-encoding": "identity" } }, "express"],
])("of token requests, %s is answered where it should be", async (_what, changes, expected) => {
  const { path, method, type, body, more } = { more: {}, ...usual, ...changes };
  const length = "transfer-encoding" in more ? {} : { "content-length": String(body.length) };
  const headers = { "content-type": type, ...length, ...more };
  const answer = await sendRaw(`${await startLane()}${path}`, { method, headers, body });
  expect(answer.body).toBe(expected);
});
