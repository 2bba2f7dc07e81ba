import type { Snapshot } from "./snapshot.ts";

/** Told of an instrument whose signal has changed. */
type Listener = (symbol: string) => void;

/** Finds out which signals have changed. */
export interface SignalUpdates {
  /** @returns Stops listening. */
  onUpdate(listener: Listener): () => void;
  /** Compares with the last look; the first one changes nothing. */
  look(snapshots: Iterable<Snapshot>): void;
}

/** What of a signal is news to whoever listens. */
const contentOf = ({ status, score, signal, confidence }: Snapshot): string =>
  `${status} ${signal.direction} ${score.toFixed(2)} ${confidence.toFixed(2)}`;

/** Remembers the signals of the last look. */
export function createSignalUpdates(): SignalUpdates {
  const listeners = new Set<{ readonly listener: Listener }>();
  const seen = new Map<string, string>();
  return {
    onUpdate(listener) {
      const added = { listener };
      listeners.add(added);
      return () => void listeners.delete(added);
    },
    look(snapshots) {
      for (const snapshot of snapshots) {
        const { symbol } = snapshot.instrument;
        const content = contentOf(snapshot);
        const before = seen.get(symbol);
        seen.set(symbol, content);
        if (before === undefined || before === content) continue;
        for (const { listener } of listeners) listener(symbol);
      }
    },
  };
}
