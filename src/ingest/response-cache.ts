import cacache from "cacache";
import type { ProviderResponse } from "../sources/live/provider-response.ts";

/** Default maximum size of the cache in bytes; one day of FINRA data takes half a megabyte. */
const MAX_BYTES = 256 * 1024 * 1024;

/** Share of the maximum size to which eviction shrinks the cache. */
const ROOM = 0.8;

/** Header fields that are cached. */
const CACHED_HEADERS = ["content-type", "etag", "last-modified"] as const;

/** Metadata of a cached answer. */
interface CachedMetadata {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly receivedAt: number;
  /** When the cached answer expires, Unix milliseconds. */
  readonly until: number;
}

/**
 * Disk cache of answers that never change, so that they are not requested again after a kill. A
 * cache that cannot be read or written costs additional requests, but no data.
 */
export interface ResponseCache {
  /** @param now Unix milliseconds. */
  get(key: string, now: number): Promise<ProviderResponse | undefined>;
  /** @param keepMs How long the answer may be used, in milliseconds. */
  put(key: string, answer: ProviderResponse, keepMs: number): Promise<void>;
  /** Removes an answer that cannot be read. */
  remove(key: string): Promise<void>;
}

/** Opens the cache of a folder. */
export function openResponseCache(folder: string, maxBytes = MAX_BYTES): ResponseCache {
  let size: number | undefined;
  return {
    async get(key, now) {
      try {
        const { data, metadata } = await cacache.get(folder, key);
        const { status, headers, receivedAt, until } = metadata as CachedMetadata;
        if (now >= until) return undefined;
        return { status, header: (name) => headers[name], body: data, receivedAt };
      } catch {
        return undefined;
      }
    },
    async put(key, { status, header, body, receivedAt }, keepMs) {
      const headers = Object.fromEntries(CACHED_HEADERS.map((name) => [name, header(name)]));
      const metadata: CachedMetadata = { status, headers, receivedAt, until: receivedAt + keepMs };
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

/**
 * Evicts the oldest answers.
 *
 * @returns Size of the remaining answers in bytes.
 */
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
