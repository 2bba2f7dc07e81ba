import { setTimeout as pause } from "node:timers/promises";
import type { Server } from "./server.ts";

/** Number of agents that register concurrently. */
const AT_ONCE = 20;

/** Pause before a rejected request is sent again, in milliseconds. */
const PAUSE_MS = 500;

const SCOPE = "signals:read factor:read darkpool:read";

/** Repeats a request while the answer is 503, which happens on a busy machine. */
async function patiently(url: string, init: RequestInit): Promise<Response> {
  for (;;) {
    const answer = await fetch(url, init);
    if (answer.status !== 503) return answer;
    await answer.body?.cancel();
    await pause(PAUSE_MS);
  }
}

/** Registers a client for client credentials. @returns The form body of its token request. */
export async function registerAgent(tokensUrl: string): Promise<string> {
  const answer = await patiently(`${tokensUrl}/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      ...{ client_name: "Bench", grant_types: ["client_credentials"], redirect_uris: [] },
      ...{ response_types: [], token_endpoint_auth_method: "client_secret_post" },
    }),
  });
  const { client_id = "", client_secret = "" } = (await answer.json()) as Record<string, string>;
  const form = { grant_type: "client_credentials", client_id, client_secret, scope: SCOPE };
  return new URLSearchParams(form).toString();
}

async function buyToken(tokensUrl: string): Promise<string> {
  const answer = await patiently(`${tokensUrl}/oauth/token`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: await registerAgent(tokensUrl),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`no token: ${answer.status} ${text}`);
  return String(JSON.parse(text).access_token);
}

/** Gets tokens for `count` new agents. */
export async function requestTokens({ tokensUrl }: Pick<Server, "tokensUrl">, count: number) {
  const tokens: string[] = [];
  while (tokens.length < count) {
    const some = Math.min(AT_ONCE, count - tokens.length);
    tokens.push(...(await Promise.all(Array.from({ length: some }, () => buyToken(tokensUrl)))));
  }
  return tokens as readonly string[];
}
