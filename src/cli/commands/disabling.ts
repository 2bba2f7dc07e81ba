import { auditOperations } from "../../store/audit/entry.ts";
import type { Collection, Operation, Stored } from "../../store/port/records.ts";
import { findSetAside, putBackOperations, setAsideOperations } from "../../store/set-aside.ts";
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
      if (await findSetAside(records, what.collection, id))
        return outcome(`The ${what.noun} ${id} was disabled before.`, { id, isDisabled: true });
      throw unknown(what, id);
    }
    if (await records.commit(await disabling(what, stored, context))) {
      return outcome(
        `Disabled the ${what.noun} ${id}. admin ${what.noun}s enable ${id} undoes it.`,
        { id, isDisabled: true },
      );
    }
  }
}

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
    ...auditOperations({ ...entry, detail: counts }, at),
  ];
}

/**
 * Puts a disabled record back, with what was disabled together with it.
 *
 * @throws {Error} If there is no such record, or it was disabled together with another one.
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
    const at = context.now();
    const entry = { action: `${what.action}.enabled`, actor: "operator", target: id };
    const steps = [
      ...(await putBackOperations(records, stored, at)),
      ...(what.announcements?.(id) ?? []),
      ...auditOperations(entry, at),
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
