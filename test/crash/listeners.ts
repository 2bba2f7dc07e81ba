import { setTimeout as pause } from "node:timers/promises";

/** Pause before a listener reconnects, in milliseconds. */
const COME_BACK_MS = 200;

/** A client of the event stream that reconnects whenever the stream ends. */
export interface Listener {
  /**
   * Disconnects for good. @returns How often the stream had ended normally, and how often it was
   * cut.
   */
  leave(): Promise<{ readonly ended: number; readonly cut: number }>;
}

/** Opens the event stream of a key's owner, repeatedly. */
export function startListener(base: string, key: string): Listener {
  const left = new AbortController();
  const times = { ended: 0, cut: 0 };
  const listen = async (): Promise<void> => {
    while (!left.signal.aborted) {
      const how = await hear(`${base}/api/alerts/stream`, key, left.signal);
      if (!left.signal.aborted) times[how] += 1;
      await pause(COME_BACK_MS);
    }
  };
  const listening = listen();
  return {
    async leave() {
      left.abort();
      await listening;
      return times;
    },
  };
}

async function hear(url: string, key: string, signal: AbortSignal): Promise<"ended" | "cut"> {
  try {
    const answer = await fetch(url, { headers: { "x-api-key": key }, signal });
    await answer.text();
    return answer.ok ? "ended" : "cut";
  } catch {
    return "cut";
  }
}
