import { accounts } from "../../principals/accounts/accounts.ts";
import { writeAuditEntry } from "../../store/audit-entry.ts";
import type { Collection, Operation, Stored } from "../../store/port/records.ts";
import {
  findSetAside,
  putBackOperations,
  type SetAsideRecord,
  separateOperation,
  setAsideOperations,
} from "../../store/set-aside.ts";
import { writesOf } from "../../store/transact.ts";
import type { CommandContext, CommandOutcome } from "../command.ts";

/** A kind of thing that an operator can disable. */
export interface Disabled<T> {
  /** What it is called, such as `agent`. */
  readonly noun: string;
  readonly collection: Collection<T>;
  /** Audit actions without their last word, such as `client`. */
  readonly action: string;
  /** Further operations of a commit that disables or enables the record. */
  readonly announcements?: (key: string) => readonly Operation[];
  /** The account without which the record is disabled too, and stays so; absent if there is none. */
  readonly accountOf?: (value: T) => string | undefined;
  /** Operations that disable what belongs to the record, and how many records of each name. */
  readonly dependents?: (
    key: string,
    context: CommandContext,
  ) => Promise<{ readonly steps: readonly Operation[]; readonly counts: Record<string, number> }>;
}

/**
 * Sets a record aside, so that it ends at once: for every process it is as good as deleted.
 *
 * @throws {Error} If there is no such record.
 */
export async function disable<T>(
  what: Disabled<T>,
  id: string,
  context: CommandContext,
): Promise<CommandOutcome> {
  const { records } = context.store;
  for (;;) {
    const stored = await records.get(what.collection, id);
    if (stored === undefined) {
      const aside = await findSetAside(records, what.collection, id);
      if (aside === undefined) throw unknown(what, id);
      const { with: other } = aside.value;
      if (other === undefined) {
        await disableLateDependents(what, id, context);
        return outcome(`The ${what.noun} ${id} was disabled before.`, { id, isDisabled: true });
      }
      if (await records.commit(separating(what, aside, context))) {
        return outcome(
          `Disabled the ${what.noun} ${id} on its own: it stays so when ${other} is enabled.`,
          { id, isDisabled: true },
        );
      }
      continue;
    }
    if (await records.commit(await disabling(what, stored, context))) {
      await disableLateDependents(what, id, context);
      return outcome(
        `Disabled the ${what.noun} ${id}. admin ${what.noun}s enable ${id} undoes it.`,
        { id, isDisabled: true },
      );
    }
  }
}

/**
 * Disables what was made for a record between the reading of its dependents and its own commit.
 * Whatever is made requires the record, so nothing more is made after that.
 */
async function disableLateDependents<T>(
  { dependents }: Disabled<T>,
  id: string,
  context: CommandContext,
): Promise<void> {
  for (;;) {
    const { steps } = (await dependents?.(id, context)) ?? { steps: [] };
    if (steps.length === 0) return;
    await context.store.records.commit(steps);
  }
}

const separating = <T>(
  { action }: Disabled<T>,
  aside: Stored<SetAsideRecord>,
  { now }: CommandContext,
): readonly Operation[] => [
  separateOperation(aside),
  ...writesOf(
    writeAuditEntry,
    { action: `${action}.disabled`, actor: "operator", target: aside.value.key },
    now(),
  ),
];

async function disabling<T>(
  what: Disabled<T>,
  stored: Stored<T>,
  context: CommandContext,
): Promise<readonly Operation[]> {
  const at = context.now();
  const { key } = stored;
  const { steps, counts } = (await what.dependents?.(key, context)) ?? { steps: [], counts: {} };
  const entry = { action: `${what.action}.disabled`, actor: "operator", target: key };
  return [
    ...setAsideOperations(what.collection, stored, { at }),
    ...steps,
    ...(what.announcements?.(key) ?? []),
    ...writesOf(writeAuditEntry, { ...entry, detail: counts }, at),
  ];
}

/**
 * Puts a disabled record back, with what was disabled together with it.
 *
 * @throws {Error} If there is no such record, or its account is disabled.
 */
export async function enable<T>(
  what: Disabled<T>,
  id: string,
  context: CommandContext,
): Promise<CommandOutcome> {
  const { records } = context.store;
  for (;;) {
    const stored = await findSetAside(records, what.collection, id);
    if (stored === undefined) {
      if (await records.get(what.collection, id))
        return outcome(`The ${what.noun} ${id} is not disabled.`, { id, isDisabled: false });
      throw unknown(what, id);
    }
    const account = stored.value.with;
    if (account !== undefined)
      throw new Error(`The ${what.noun} ${id} was disabled with ${account}: enable that.`);
    const owner = what.accountOf?.(stored.value.value as T);
    if (owner !== undefined && (await findSetAside(records, accounts, owner)))
      throw new Error(
        `The ${what.noun} ${id} is of ${owner}, which is disabled: enable that first.`,
      );
    const at = context.now();
    const entry = { action: `${what.action}.enabled`, actor: "operator", target: id };
    const steps = [
      ...(await putBackOperations(records, stored, at)),
      ...(what.announcements?.(id) ?? []),
      ...writesOf(writeAuditEntry, entry, at),
    ];
    if (await records.commit(steps))
      return outcome(`Enabled the ${what.noun} ${id}.`, { id, isDisabled: false });
  }
}

const unknown = ({ noun }: Pick<Disabled<unknown>, "noun">, id: string): Error =>
  new Error(`There is no ${noun} ${id}; admin ${noun}s list says which there are.`);

const outcome = (line: string, result: CommandOutcome["result"]): CommandOutcome => ({
  isGood: true,
  lines: [line],
  result,
  notes: [],
});
