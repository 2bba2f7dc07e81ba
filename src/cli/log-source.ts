import { z } from "zod";
import { parseJson } from "../lib/json.ts";
import type { CommitmentOpening } from "../log/leaves.ts";
import { readWholeBody } from "../outbound/whole-body.ts";
import { CheckFailure } from "../tree/check.ts";
import { type LogSource, MAX_TEXT_BYTES } from "../tree/tree-source.ts";
import {
  bearerHeaders,
  refusalText,
  requestWithRetries,
  sendRequestOnce,
} from "./request-with-retries.ts";

/**
 * Maximum size of an answer of a tool, in bytes: the largest has the factors of an entry, which has
 * at most 65,535.
 */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** Whether an argument is an http or https URL rather than a path. */
export const isHttpUrl = (text: string): boolean => /^https?:\/\//i.test(text);

/**
 * Reads the log of a running service.
 *
 * @param address Public origin of the service.
 * @param token Access token or API key with `signals:read`, which every service except a sandbox
 * requires.
 * @param onBytes Called with the size of each file that was read, in bytes; throws to end the
 * reading.
 */
export function httpLogSource(
  address: string,
  token: string | undefined,
  onBytes: (bytes: number) => void = () => undefined,
): LogSource {
  const base = new URL("log/", address.endsWith("/") ? address : `${address}/`);
  return {
    async read(path, maxBytes) {
      const url = new URL(path, base);
      const response = await requestWithRetries(url, bearerHeaders(token));
      if (response.ok) {
        const bytes = await bodyOf(response, path, maxBytes);
        onBytes(bytes.length);
        return bytes;
      }
      if (response.status !== 404) throw new Error(await refusalText(response, url));
      await response.body?.cancel();
      return undefined;
    },
  };
}

/**
 * The track record of a running service; `undefined` if the service has no track record, or the
 * token does not permit reading it.
 */
export const readTrackRecord = (address: string, token: string | undefined): Promise<unknown> =>
  answerAt(address, "api/track-record", token);

const OpenedFactors = z.looseObject({ factors: z.object({ salt: z.string(), text: z.string() }) });

/**
 * The factors of a log entry; `undefined` if the token does not permit reading them, or they are no
 * longer stored.
 */
export async function readDisclosedFactors(
  address: string,
  index: number,
  token: string,
): Promise<CommitmentOpening | undefined> {
  const answer = await answerAt(address, `api/signals/verify?index=${index}`, token);
  return OpenedFactors.safeParse(answer).data?.factors;
}

/** The result of a tool of a running service; `undefined` if the service rejects the call. */
async function answerAt(
  address: string,
  path: string,
  token: string | undefined,
): Promise<unknown> {
  const url = new URL(path, address.endsWith("/") ? address : `${address}/`);
  const response = await requestWithRetries(url, bearerHeaders(token));
  if (response.ok) return parseJson(String(await bodyOf(response, path, MAX_ANSWER_BYTES)));
  await response.body?.cancel();
  return undefined;
}

/** @throws {CheckFailure} If the body is longer than anything that belongs there, or breaks off. */
async function bodyOf({ body }: Response, path: string, maxBytes: number): Promise<Uint8Array> {
  try {
    return await readWholeBody(body ?? [], maxBytes);
  } catch {
    throw new CheckFailure(`${path} breaks off, or is longer than ${maxBytes} bytes`);
  }
}

/** The text at a URL; `undefined` if the server responds with an error status. */
export async function readTextFromUrl(address: string): Promise<string | undefined> {
  const url = new URL(address);
  const response = await sendRequestOnce(url, {});
  if (response.ok) return String(await bodyOf(response, url.pathname, MAX_TEXT_BYTES));
  await response.body?.cancel();
  return undefined;
}
