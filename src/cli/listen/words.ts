import type { ListenCall } from "./call.ts";

/** What is said when a secret was typed in. */
export const SECRET_TAKEN = "The secret is taken; what comes from now on is verified with it.";

/** What is said when something else was. */
export const NO_SECRET = "That is no signing secret: whsec_ and 24 to 64 bytes in base64.";

/**
 * What is said at the start.
 *
 * @param url Where the receiver listens.
 */
export function welcome(
  url: string,
  { secret, keys }: Extract<ListenCall, { readonly kind: "listen" }>,
): string {
  const listening = `Listening on ${url}; Ctrl-C ends it.`;
  return secret === undefined && keys === undefined
    ? `${listening}\n\n${withoutSecret(url)}\n`
    : `${listening}\n`;
}

const withoutSecret = (url: string): string =>
  `There is no secret yet: the challenge is answered, and nothing is verified. With a service that was
started as ALLOW_INSECURE_WEBHOOKS=1 npm start, and a token with the scope alerts:write, register:

  curl -s http://127.0.0.1:3000/api/alerts -H "authorization: Bearer $TOKEN" \\
    -H 'content-type: application/json' -d '{ "symbols": ["ALDER.SIM"], "kinds": ["signal_shift"],
    "delivery": { "type": "webhook", "url": "${url}" } }'

Then type in the secret of the answer, whsec_..., and press Enter.`;
