import { strongEtag } from "../../../lib/etag.ts";
import type { SignalLog } from "../../../log/signal-log.ts";
import type { ToolContext } from "../../../tool/tool.ts";
import { createEditionCache } from "../../edition-cache.ts";
import type { Representation } from "../../send-response.ts";

/** Maximum total size of the cached bodies, in bytes: about 90 whole pages. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Memory of a cache entry besides its body and its key, in bytes. */
const BYTES_PER_ENTRY = 400;

/**
 * Bodies that depend only on a question and the state of the market, so that a page of 180 kB,
 * which takes 10 to 15 ms (measured), is not rendered for each visitor.
 */
export interface SharedPages {
  /** The body for a question, from the cache or made. */
  of(question: string, make: () => Pick<Representation, "type" | "body">): Promise<Representation>;
}

/** Creates an empty cache. */
export function createSharedPages(
  context: ToolContext,
  signalLog: Pick<SignalLog, "fault"> | undefined,
): SharedPages {
  const { market } = context;
  const cache = createEditionCache<Representation>(context, {
    maxSize: MAX_BYTES,
    sizeOf: ({ body }, question) => BYTES_PER_ENTRY + body.length + question.length,
  });
  /** What pages show of the market and the log that can change within an edition. */
  const state = () =>
    JSON.stringify([market.knownUntil(), market.isProvisional?.(), signalLog?.fault]);
  return {
    async of(question, make) {
      const key = `${state()} ${question}`;
      return cache.find(key) ?? cache.compute(key, () => withEtag(make()));
    },
  };
}

/** A body as bytes, which are sent without being encoded each time. */
const withEtag = ({ type, body }: Pick<Representation, "type" | "body">): Representation => {
  const bytes = Buffer.from(body);
  return { type, body: bytes, etag: strongEtag(bytes) };
};
