import { LogStore } from "../../log/log-store.ts";
import { formerLogOrigins, newLogState } from "../../log/new-log.ts";
import { checkpointText, parseCheckpoint } from "../../tree/checkpoint.ts";
import { EMPTY_ROOT } from "../../tree/merkle.ts";
import { LOG_KEY_USES } from "../../tree/signers.ts";
import { ConfirmationNeeded, defineStoreCommand } from "../command.ts";
import { yesOption } from "./shared.ts";

/** Starts a new signal log, for a store that has lost entries that were already signed. */
export const startNewLogCommand = defineStoreCommand({
  summary: "Starts a new log of signals, of another origin and key, in place of the old one.",
  notes: [
    "For a store that was restored to an earlier state, whose log is not signed any more: /readyz says",
    "so. The first entry names the last checkpoint of the old log that the store has.",
  ],
  options: { yes: yesOption },

  async run({ yes }, { store, keyring, now }) {
    const logs = new LogStore(store);
    const before = await logs.state();
    if (before === undefined) throw new Error("There is no log yet; the service starts one.");
    const { origin, id, recordedUntil } = before.value;
    if (!yes) {
      const why = "Everybody who verifies it will find that it is another log.";
      throw new ConfirmationNeeded(`A new log takes the place of ${origin}. ${why}`);
    }
    const signed = await logs.checkpoint();
    const replaces =
      signed?.id === id
        ? parseCheckpoint(signed.note).note.text
        : checkpointText({ origin, size: 0, root: EMPTY_ROOT });
    const host = origin.slice(0, origin.lastIndexOf("/log/"));
    const beganAt = Math.max(before.value.beganAt, ...Object.values(recordedUntil));
    const state = newLogState(host, {
      createdAt: now(),
      beganAt,
      recordedUntil,
      replaces,
      former: formerLogOrigins(before.value),
    });
    const ring = await keyring();
    for (const use of LOG_KEY_USES) await ring.rotate(use, { actor: "operator" });
    if (!(await logs.start(before, state))) throw new Error("The log has gone on; try again.");
    return {
      isGood: true,
      lines: [`The log is now ${state.origin}.`],
      result: { origin: state.origin, replaces: origin },
      notes: ["Tell those who verify it: their state file is of the old log."],
    };
  },
});
