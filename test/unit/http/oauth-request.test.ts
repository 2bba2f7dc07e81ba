import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { readOAuthForm } from "../../../src/http/oauth/oauth-request.ts";
import { sendRaw } from "../../support/raw.ts";
import { listenerOf } from "../../support/route-listener.ts";

const FORM = "application/x-www-form-urlencoded";

const MOST_BYTES = 20;

const PATH = "/oauth/token";

/** Starts a server that responds with the form field `a`. */
async function start() {
  const server = createServer(
    listenerOf([
      {
        method: "POST",
        path: PATH,
        isStrict: true,
        async handle(context) {
          const { form } = await readOAuthForm(context, MOST_BYTES);
          context.res.end(form.get("a"));
        },
      },
    ]),
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}

const usual = { path: PATH, method: "POST", type: FORM, body: "a=b" };

it.each([
  ["of the usual content type", {}, 200, "b"],
  ["in UTF-8", { type: `${FORM}; charset=UTF-8` }, 200, "b"],
  ["of the maximum size", { body: "a=".padEnd(MOST_BYTES, "c") }, 200, "c".repeat(18)],
  ["above the maximum size", { body: "a=".padEnd(MOST_BYTES + 1, "c") }, 413, undefined],
  ["that is missing", { body: "" }, 200, ""],
  ["with UTF-16 as its stated character set", { type: `${FORM}; charset=utf-16` }, 200, "b"],
  ["of the content type application/json", { type: "application/json" }, 415, undefined],
  ["sent with PUT", { method: "PUT" }, 405, undefined],
  ["sent to another path", { path: `${PATH}/` }, 404, ""],
  ["sent to a URL with a query", { path: `${PATH}?a=c` }, 200, "b"],
  ["of unknown length", { more: { "transfer-encoding": "chunked" } }, 200, "b"],
  ["with the content coding identity", { more: { "content-encoding": "identity" } }, 200, "b"],
  ["with the content coding gzip", { more: { "content-encoding": "gzip" } }, 415, undefined],
])(
  "a form body %s is parsed or rejected as specified",
  async (_what, changes, status, expected) => {
    const { path, method, type, body, more } = { more: {}, ...usual, ...changes };
    const length = "transfer-encoding" in more ? {} : { "content-length": String(body.length) };
    const headers = { "content-type": type, ...length, ...more };
    const answer = await sendRaw(`${await start()}${path}`, { method, headers, body });
    expect(answer.status).toBe(status);
    if (expected !== undefined) expect(answer.body).toBe(expected);
  },
);
