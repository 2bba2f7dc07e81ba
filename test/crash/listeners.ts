import { setTimeout as pause } from "node:timers/promises";

/** Pause before a listener whose stream has ended comes back, in milliseconds. */
const COME_BACK_MS = 200;

/** A client of the event stream that reconnects whenever it ends. */
export interface Listener {
  /** Leaves. @returns How often the stream had ended in good order, and how often otherwise. */
  leave(): Promise<{ readonly ended: number; readonly cut: number }>;
}

/** Opens the stream of events of a key's owner, again and again. */
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
