import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Opening } from "../log/leaves.ts";
import type { LogSource } from "../log/verify/source.ts";
import { bearerHeaders, requestPatiently, sendOnce } from "./patient-request.ts";

/** Largest file: a bundle of 256 entries of 65,535 bytes each, behind their lengths. */
const MAX_BYTES = 256 * (2 + 65_535);

/** Whether an operand is an address rather than a path. */
export const isHttpUrl = (text: string): boolean => /^https?:\/\//.test(text);

/**
 * The log of a running service.
 *
 * @param address Public origin of the service.
 * @param token Token or API key with `signals:read`, which every service except a sandbox requires.
 */
export function addressSource(address: string, token: string | undefined): LogSource {
  const base = new URL("log/", address.endsWith("/") ? address : `${address}/`);
  return {
    async read(path) {
      const url = new URL(path, base);
      const response = await requestPatiently(url, bearerHeaders(token));
      if (response.ok) return bodyOf(response, url);
      await response.body?.cancel();
      if (response.status === 404) return undefined;
      throw new Error(reasonOf(response, url));
    },
  };
}

/** The track record of a running service; `undefined` if the caller may not read it, or there is
 *  none. */
export const readTrackRecord = (address: string, token: string | undefined): Promise<unknown> =>
  answerAt(address, "api/track-record", token);

const Opened = z.looseObject({ factors: z.object({ salt: z.string(), text: z.string() }) });

/** The factors of an entry; `undefined` if they are not disclosed to this caller, or no longer
 *  stored. */
export async function readFactors(
  address: string,
  index: number,
  token: string,
): Promise<Opening | undefined> {
  const answer = await answerAt(address, `api/signals/verify?index=${index}`, token);
  return Opened.safeParse(answer).data?.factors;
}

/** The answer of a tool of a running service; `undefined` for a refusal. */
async function answerAt(
  address: string,
  path: string,
  token: string | undefined,
): Promise<unknown> {
  const url = new URL(path, address.endsWith("/") ? address : `${address}/`);
  const response = await requestPatiently(url, bearerHeaders(token));
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

/** The text at an address; `undefined` if there is none. */
export async function readUrl(address: string): Promise<string | undefined> {
  const url = new URL(address);
  const response = await sendOnce(url, {});
  return response.ok ? String(await bodyOf(response, url)) : undefined;
}

/** A log that was downloaded. */
export const folderSource = (folder: string): LogSource => ({
  async read(path) {
    try {
      return await readFile(join(folder, ...path.split("/")));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  },
});
