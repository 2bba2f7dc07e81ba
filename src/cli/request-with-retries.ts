import { setTimeout as delay } from "node:timers/promises";
import { parseJson } from "../lib/json.ts";
import { problemTitle } from "../lib/problem.ts";
import { readWholeBody } from "../outbound/whole-body.ts";

/** Timeout of one request, in milliseconds. */
const TIMEOUT_MS = 30_000;

/** Maximum number of repetitions of a request after the status 429 or 503. */
const MAX_REPEATS = 20;

/** Maximum sum of the pauses before the repetitions of a request, in milliseconds. */
const MAX_WAIT_MS = 600_000;

/** Headers with the token or API key in `Authorization`; empty without a credential. */
export const bearerHeaders = (token: string | undefined): Readonly<Record<string, string>> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

/**
 * Sends a request, and repeats it after a pause while the service responds with 429 or 503.
 *
 * @returns The first response with another status, or the last response if `MAX_REPEATS` or
 * `MAX_WAIT_MS` permits no further repetition.
 * @throws {Error} As `sendRequestOnce`.
 */
export async function requestWithRetries(
  url: URL,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  let waited = 0;
  for (let repeat = 0; ; repeat++) {
    const response = await sendRequestOnce(url, headers);
    const isLimited = response.status === 429 || response.status === 503;
    if (!isLimited || repeat === MAX_REPEATS) return response;
    const seconds = Number(response.headers.get("retry-after") ?? 1);
    const pause = 1_000 * Math.max(1, seconds || 1);
    waited += pause;
    if (waited > MAX_WAIT_MS) return response;
    await response.body?.cancel();
    await delay(pause);
  }
}

/**
 * Sends a request once. A redirect is not followed: its target, perhaps an internal address, would
 * be the choice of the server.
 *
 * @throws {Error} If the server does not respond, or redirects, or the URL has a user name or
 * password, which messages would print.
 */
export async function sendRequestOnce(
  url: URL,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  if (url.username !== "" || url.password !== "") {
    throw new Error(
      `Leave the user name and password out of the address of ${url.host}: --token names a token.`,
    );
  }
  const response = await fetch(url, {
    headers,
    redirect: "manual",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((cause) => {
    throw new Error(`${url} does not answer.`, { cause });
  });
  if (response.status < 300 || response.status >= 400) return response;
  await response.body?.cancel();
  throw new Error(`${url} redirects, which is not followed: name the address itself.`);
}

/** Maximum size of an error response, in bytes. */
const MAX_REFUSAL_BYTES = 64 * 1024;

/**
 * Why a server rejected a request. The words are those of this program: of the response only the
 * status and a known `code` are used.
 */
export async function refusalText(response: Response, url: URL): Promise<string> {
  const { status, body } = response;
  if (status === 401 || status === 403) {
    await body?.cancel();
    return `${url} asks for a token with signals:read: give one with --token.`;
  }
  const read = readWholeBody(body ?? [], MAX_REFUSAL_BYTES);
  const problem = parseJson(await read.then(String, () => ""));
  const title = problemTitle((problem as { readonly code?: unknown } | undefined)?.code);
  return title === undefined ? `${url} answers ${status}.` : `${url} answers ${status}: ${title}`;
}
