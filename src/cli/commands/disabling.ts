import { accounts } from "../../principals/accounts/accounts.ts";
import { writeAuditEntry } from "../../store/audit-entry.ts";
import type { Collection } from "../../store/port/records.ts";
import { findSetAside, putBack, separate, setAside } from "../../store/set-aside.ts";
import { type Transaction, transact } from "../../store/transact.ts";
import type { CommandContext, CommandOutcome } from "../command.ts";

/** A kind of thing that an operator can disable. */
export interface Disabled<T> {
  /** What it is called, such as `agent`. */
  readonly noun: string;
  readonly collection: Collection<T>;
  /** Audit actions without their last word, such as `client`. */
  readonly action: string;
  /** Topic on which the disabling or enabling of a record is announced, with its key. */
  readonly topic?: string;
  /**
   * The account without which the record is disabled too, and stays so; absent if there is none.
   */
  readonly accountOf?: (value: T) => string | undefined;
  /** Disables what belongs to the record. @returns How many records of each name. */
  readonly disableDependents?: (
    tx: Transaction,
    key: string,
    at: number,
  ) => Promise<Readonly<Record<string, number>>>;
}

/**
 * Sets a record aside, so that it ends at once: for every process it is as good as deleted.
 *
 * @throws {Error} If there is no such record.
 */
export function disable<T>(
  what: Disabled<T>,
  id: string,
  context: CommandContext,
): Promise<CommandOutcome> {
  const at = context.now();
  return transact(context.store.records, async (tx) => {
    const disabled = (target: string, detail?: Readonly<Record<string, number>>) =>
      writeAuditEntry(
        tx,
        { action: `${what.action}.disabled`, actor: "operator", target, ...(detail && { detail }) },
        at,
      );
    const stored = await tx.get(what.collection, id);
    if (stored !== undefined) {
      setAside(tx, what.collection, stored, { at });
      const counts = (await what.disableDependents?.(tx, id, at)) ?? {};
      if (what.topic !== undefined) tx.announce(what.topic, id);
      disabled(id, counts);
      return outcome(
        `Disabled the ${what.noun} ${id}. admin ${what.noun}s enable ${id} undoes it.`,
        { id, isDisabled: true },
      );
    }
    const aside = await findSetAside(tx, what.collection, id);
    if (aside === undefined) throw unknown(what, id);
    const { with: other } = aside.value;
    if (other === undefined) {
      return outcome(`The ${what.noun} ${id} was disabled before.`, { id, isDisabled: true });
    }
    separate(tx, aside);
    disabled(id);
    return outcome(
      `Disabled the ${what.noun} ${id} on its own: it stays so when ${other} is enabled.`,
      { id, isDisabled: true },
    );
  });
}

/**
 * Puts a disabled record back, with what was disabled together with it.
 *
 * @throws {Error} If there is no such record, or its account is disabled.
 */
export function enable<T>(
  what: Disabled<T>,
  id: string,
  context: CommandContext,
): Promise<CommandOutcome> {
  const at = context.now();
  return transact(context.store.records, async (tx) => {
    const stored = await findSetAside(tx, what.collection, id);
    if (stored === undefined) {
      if (await tx.get(what.collection, id))
        return outcome(`The ${what.noun} ${id} is not disabled.`, { id, isDisabled: false });
      throw unknown(what, id);
    }
    const account = stored.value.with;
    if (account !== undefined)
      throw new Error(`The ${what.noun} ${id} was disabled with ${account}: enable that.`);
    const owner = what.accountOf?.(stored.value.value as T);
    if (owner !== undefined && (await findSetAside(tx, accounts, owner)))
      throw new Error(
        `The ${what.noun} ${id} is of ${owner}, which is disabled: enable that first.`,
      );
    await putBack(tx, stored, at);
    if (what.topic !== undefined) tx.announce(what.topic, id);
    writeAuditEntry(tx, { action: `${what.action}.enabled`, actor: "operator", target: id }, at);
    return outcome(`Enabled the ${what.noun} ${id}.`, { id, isDisabled: false });
  });
}

const unknown = ({ noun }: Pick<Disabled<unknown>, "noun">, id: string): Error =>
  new Error(`There is no ${noun} ${id}; admin ${noun}s list says which there are.`);

const outcome = (line: string, result: CommandOutcome["result"]): CommandOutcome => ({
  isGood: true,
  lines: [line],
  result,
  notes: [],
});
