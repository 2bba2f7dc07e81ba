import {
  announce,
  appendToArchive,
  consume,
  insert,
  put,
  remove,
  removeGroup,
  replace,
  requireUnchanged,
} from "../../src/store/port/operations.ts";
import type { Operation } from "../../src/store/port/records.ts";
import type { Transaction } from "../../src/store/transact.ts";

/**
 * The operations of a change that reads nothing, for tests that commit several changes at once.
 *
 * @param write Writes into a transaction.
 * @param given What `write` is called with after the transaction.
 */
export function stepsOf<A extends readonly unknown[]>(
  write: (tx: Transaction, ...given: A) => void | Promise<void>,
  ...given: A
): readonly Operation[] {
  const steps: Operation[] = [];
  const reads = async () => {
    throw new Error("This change reads.");
  };
  void write(
    {
      get: reads,
      list: reads,
      check: (of, read) => void steps.push(requireUnchanged(of, read)),
      put: (to, record) => void steps.push(put(to, record)),
      insert: (to, record) => void steps.push(insert(to, record)),
      update: (of, read, change) => void steps.push(replace(of, read, change)),
      remove: (from, key) => void steps.push(remove(from, key)),
      removeGroup: (group) => void steps.push(removeGroup(group)),
      consume: (of, key) => void steps.push(consume(of, key)),
      append: (row) => void steps.push(appendToArchive(row)),
      announce: (topic, text) => void steps.push(announce(topic, text)),
    },
    ...given,
  );
  return steps;
}
