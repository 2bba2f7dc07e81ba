import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { CommitmentOpening } from "../log/leaves.ts";
import type { LogSource } from "../log/verify/source.ts";
import { bearerHeaders, requestWithRetries, sendRequestOnce } from "./request-with-retries.ts";

/**
 * Maximum file size, in bytes: a bundle of 256 entries of at most 65,535 bytes, each with a
 * two-byte length.
 */
const MAX_BYTES = 256 * (2 + 65_535);

/** Whether an argument is an http or https URL rather than a path. */
export const isHttpUrl = (text: string): boolean => /^https?:\/\//.test(text);

/**
 * Reads the log of a running service.
 *
 * @param address Public origin of the service.
 * @param token Access token or API key with `signals:read`, which every service except a sandbox
 * requires.
 */
export function httpLogSource(address: string, token: string | undefined): LogSource {
  const base = new URL("log/", address.endsWith("/") ? address : `${address}/`);
  return {
    async read(path) {
      const url = new URL(path, base);
      const response = await requestWithRetries(url, bearerHeaders(token));
      if (response.ok) return bodyOf(response, url);
      await response.body?.cancel();
      if (response.status === 404) return undefined;
      throw new Error(reasonOf(response, url));
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
  if (response.ok) return JSON.parse(String(await bodyOf(response, url)));
  await response.body?.cancel();
  return undefined;
}

function reasonOf({ status }: Response, url: URL): string {
  return status === 401 || status === 403
    ? `${url} asks for a token with signals:read: give one with --token.`
    : `${url} answers ${status}.`;
}

async function bodyOf({ body }: Response, url: URL): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    parts.push(part);
    bytes += part.length;
    if (bytes > MAX_BYTES) throw new Error(`${url} answers more than any file of a log has.`);
  }
  return Buffer.concat(parts);
}

/** The text at a URL; `undefined` if the server responds with an error status. */
export async function readTextFromUrl(address: string): Promise<string | undefined> {
  const url = new URL(address);
  const response = await sendRequestOnce(url, {});
  return response.ok ? String(await bodyOf(response, url)) : undefined;
}

/** Reads a log that was downloaded to a folder. */
export const folderLogSource = (folder: string): LogSource => ({
  async read(path) {
    try {
      return await readFile(join(folder, ...path.split("/")));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  },
});
