import { setTimeout as delay } from "node:timers/promises";

/** Time for one request, in milliseconds. */
const TIMEOUT_MS = 30_000;

/** Maximum number of times that a request is repeated because of a limit. */
const MAX_REPEATS = 20;

/** Longest pause that a limit can ask for, in milliseconds. */
const MAX_PAUSE_MS = 120_000;

/** Headers with a token or API key, if there is one. */
export const bearerHeaders = (token: string | undefined): Readonly<Record<string, string>> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

/**
 * Sends a request, and repeats it after a pause while the service answers that a limit is exceeded.
 *
 * @returns Any other response.
 * @throws {Error} If nothing answers.
 */
export async function requestPatiently(
  url: URL,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  for (let repeat = 0; ; repeat++) {
    const response = await sendOnce(url, headers);
    const isLimited = response.status === 429 || response.status === 503;
    if (!isLimited || repeat === MAX_REPEATS) return response;
    await response.body?.cancel();
    const seconds = Number(response.headers.get("retry-after") ?? 1);
    await delay(Math.min(MAX_PAUSE_MS, 1_000 * Math.max(1, seconds || 1)));
  }
}

/** Sends a request once. @throws {Error} If nothing answers. */
export async function sendOnce(
  url: URL,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  try {
    return await fetch(url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (cause) {
    throw new Error(`${url} does not answer.`, { cause });
  }
}
