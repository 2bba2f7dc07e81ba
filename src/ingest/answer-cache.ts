import cacache from "cacache";
import type { Answer } from "../sources/live/answer.ts";

/** Bytes that answers may take on disk unless told otherwise; a day of FINRA's has half a megabyte. */
const MAX_BYTES = 256 * 1024 * 1024;

/** Of the bound, what is left after making room. */
const ROOM = 0.8;

/** Header fields that are kept. */
const KEPT_HEADERS = ["content-type", "etag", "last-modified"] as const;

/** What is known of a kept answer beside its body. */
interface Kept {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly receivedAt: number;
  /** Not used any more from then on, Unix milliseconds. */
  readonly until: number;
}

/**
 * Answers that do not change, on disk, so that after a kill they are not asked for again. A cache
 * that cannot be read or written costs requests and nothing else.
 */
export interface AnswerCache {
  /** @param now Unix milliseconds. */
  get(key: string, now: number): Promise<Answer | undefined>;
  /** @param keepMs How long it may be used, in milliseconds. */
  put(key: string, answer: Answer, keepMs: number): Promise<void>;
  /** Forgets an answer that nobody can read. */
  remove(key: string): Promise<void>;
}

/** Opens the cache of a folder. */
export function openAnswerCache(folder: string, maxBytes = MAX_BYTES): AnswerCache {
  let size: number | undefined;
  return {
    async get(key, now) {
      try {
        const { data, metadata } = await cacache.get(folder, key);
        const { status, headers, receivedAt, until } = metadata as Kept;
        if (now >= until) return undefined;
        return { status, header: (name) => headers[name], body: data, receivedAt };
      } catch {
        return undefined;
      }
    },
    async put(key, { status, header, body, receivedAt }, keepMs) {
      const headers = Object.fromEntries(KEPT_HEADERS.map((name) => [name, header(name)]));
      const metadata: Kept = { status, headers, receivedAt, until: receivedAt + keepMs };
      try {
        size ??= await sizeOf(folder);
        await cacache.put(folder, key, body, { metadata });
        size += body.length;
        if (size > maxBytes) size = await makeRoom(folder, maxBytes * ROOM);
      } catch {
        size = undefined;
      }
    },
    async remove(key) {
      await cacache.rm.entry(folder, key).catch(() => undefined);
    },
  };
}

async function sizeOf(folder: string): Promise<number> {
  const entries = Object.values(await cacache.ls(folder));
  return entries.reduce((sum, { size }) => sum + size, 0);
}

/** Removes the oldest answers. @returns How many bytes are left. */
async function makeRoom(folder: string, maxBytes: number): Promise<number> {
  const entries = Object.values(await cacache.ls(folder)).sort((a, b) => b.time - a.time);
  let left = 0;
  for (const { key, size } of entries) {
    if (left + size <= maxBytes) left += size;
    else await cacache.rm.entry(folder, key);
  }
  await cacache.verify(folder);
  return left;
}
