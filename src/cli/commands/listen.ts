import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { z } from "zod";
import { isSigningSecret, type PublicKeyJwk } from "../../alerts/delivery/signing.ts";
import { WebhookKeySet } from "../../alerts/delivery/webhook-keys.ts";
import { readWholeBody } from "../../outbound/whole-body.ts";
import { defineLocalCommand } from "../command.ts";
import { sendRequestOnce } from "../request-with-retries.ts";
import { createWebhookReceiver, type WebhookReceiver } from "../webhook-receiver.ts";
import { waitForInterrupt, wholeNumberArgument } from "./shared.ts";

/** Address to listen on: loopback only, so that other machines cannot connect. */
const HOST = "127.0.0.1";

/** Maximum length of a request and of the published keys, in bytes; both stay below 20 kB. */
const MAX_BYTES = 64 * 1024;

/** Receives and prints webhooks until it is interrupted. */
export const listenCommand = defineLocalCommand({
  summary: "Receives webhooks on this machine, verifies every delivery and prints it on a line.",
  notes: [
    "Answers the challenge. A delivery that does not verify is answered with 401 and not read.",
    "A signing secret that is typed in while it runs is used too, for it is known only after the",
    "registration.",
  ],
  options: {
    port: {
      value: "<port>",
      about: "where to listen on 127.0.0.1; 0 picks a free port (4000)",
      schema: wholeNumberArgument(0, 65_535).default(4000),
    },
    secret: {
      value: "<secret>",
      about: "verify with this signing secret, whsec_...",
      schema: z
        .string()
        .refine(isSigningSecret, "is not whsec_ and 24 to 64 bytes in base64")
        .optional(),
    },
    keys: {
      value: "<base url>",
      about: "verify with the published keys of the service there, too",
      schema: z
        .url({ protocol: /^https?$/, error: "is not an address such as https://signals.example" })
        .optional(),
    },
    fail: {
      value: "<status>",
      about: "answer events with this status (300 to 599), to see them come again",
      schema: wholeNumberArgument(300, 599).optional(),
    },
  },

  async run({ port, secret, keys, fail }, { stdin, say }) {
    let received = 0;
    const receiver = createWebhookReceiver({
      secrets: secret === undefined ? [] : [secret],
      keys: keys === undefined ? [] : await publishedKeys(keys),
      failStatus: fail,
      now: () => new Date(),
    });
    const server = createServer((req, res) => {
      received++;
      answer(req, res, receiver).then(say, () => res.destroy());
    });
    const url = await listenOn(server, port);
    const lines = createInterface({ input: stdin });
    lines.on("line", (line) => say(addSecret(line.trim(), receiver)));
    say(`Listening on ${url}; Ctrl-C ends it.`);
    const help = secret === undefined ? howToRegister(url, keys ?? DEFAULT_BASE) : [];
    for (const line of ["", ...help]) say(line);
    await waitForInterrupt();
    lines.close();
    server.close().closeAllConnections();
    return { isGood: true, lines: [], result: { received }, notes: [] };
  },
});

/** Base URL of a service that runs with default settings. */
const DEFAULT_BASE = "http://127.0.0.1:3000";

const howToRegister = (url: string, base: string): readonly string[] =>
  `There is no secret yet: signatures with it are not verified. With a service that was
started as ALLOW_INSECURE_WEBHOOKS=1 npm start, and a token with the scopes alerts:write and signals:read, register:

  curl -s ${base}/api/alerts -H "authorization: Bearer $TOKEN" \\
    -H 'content-type: application/json' -d '{ "assetClass": "stock", "volatilityZ": 1.5,
    "delivery": { "type": "webhook", "url": "${url}" } }'

Then type in the secret of the answer, whsec_..., and press Enter. The challenge comes within seconds,
in the sandbox the first event within a minute or two.
`.split("\n");

/**
 * The public keys for the webhook signatures of a service.
 * @throws {Error} When the service publishes no keys.
 */
async function publishedKeys(base: string): Promise<readonly PublicKeyJwk[]> {
  const url = new URL("/.well-known/webhook-keys.json", base);
  try {
    const response = await sendRequestOnce(url, {});
    const body = await readWholeBody(response.body ?? [], MAX_BYTES);
    return WebhookKeySet.parse(JSON.parse(String(body))).keys;
  } catch (cause) {
    throw new Error(`--keys: there are no keys at ${url}.`, { cause });
  }
}

/**
 * Listens on the loopback address.
 * @returns The URL to send webhooks to.
 * @throws {Error} When the port is in use.
 */
async function listenOn(server: Server, port: number): Promise<string> {
  server.listen(port, HOST);
  await once(server, "listening");
  return `http://${HOST}:${(server.address() as AddressInfo).port}/`;
}

/**
 * Adds a webhook secret that the user typed.
 * @returns The line to print.
 */
function addSecret(text: string, { trust }: WebhookReceiver): string {
  if (!isSigningSecret(text)) {
    return "That is no signing secret: whsec_ and 24 to 64 bytes in base64.";
  }
  trust(text);
  return "The secret is taken; what comes from now on is verified with it.";
}

/**
 * Answers a webhook request.
 * @returns The line to print about the request.
 */
async function answer(
  req: IncomingMessage,
  res: ServerResponse,
  receiver: WebhookReceiver,
): Promise<string> {
  if (req.method !== "POST") {
    res.writeHead(405, { allow: "POST" }).end();
    return "A request that was no POST came; deliveries are.";
  }
  const delivery = { headers: req.headers, body: await readWholeBody(req, MAX_BYTES) };
  const { status, body, line } = receiver.receive(delivery);
  res.writeHead(status, { "content-type": "application/json" }).end(body);
  return line;
}
