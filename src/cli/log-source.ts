import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { LogSource } from "../log/verify/source.ts";

/** Time for one request, in milliseconds. */
const TIMEOUT_MS = 30_000;

/** Largest file: a bundle of 256 entries of 65,535 bytes each, behind their lengths. */
const MAX_BYTES = 256 * (2 + 65_535);

/** Most times that a request is repeated because of a limit. */
const MAX_REPEATS = 20;

/** Longest pause that a limit can ask for, in milliseconds. */
const MAX_PAUSE_MS = 120_000;

/** Whether an operand is an address rather than a path. */
export const isAddress = (text: string): boolean => /^https?:\/\//.test(text);

/**
 * The log of a running service.
 *
 * @param address Public origin of the service.
 * @param token Token or API key with `signals:read`, which all but the sandbox ask for.
 */
export function addressSource(address: string, token: string | undefined): LogSource {
  const base = new URL("log/", address.endsWith("/") ? address : `${address}/`);
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return {
    async read(path) {
      const url = new URL(path, base);
      for (let repeat = 0; ; repeat++) {
        const response = await request(url, headers);
        if (response.ok) return bodyOf(response, url);
        await response.body?.cancel();
        if (response.status === 404) return undefined;
        const isLimited = response.status === 429 || response.status === 503;
        if (!isLimited || repeat === MAX_REPEATS) throw new Error(reasonOf(response, url));
        const seconds = Number(response.headers.get("retry-after") ?? 1);
        await delay(Math.min(MAX_PAUSE_MS, 1_000 * Math.max(1, seconds || 1)));
      }
    },
  };
}

async function request(url: URL, headers: Record<string, string>): Promise<Response> {
  try {
    return await fetch(url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (cause) {
    throw new Error(`${url} does not answer.`, { cause });
  }
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

/** A text at an address; `undefined` without one. */
export async function readAddress(address: string): Promise<string | undefined> {
  const url = new URL(address);
  const response = await request(url, {});
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
