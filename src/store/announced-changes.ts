import { announce } from "./port/operations.ts";
import type { Operation, Records } from "./port/records.ts";

/** The changes that `withAnnouncedChanges` announces. */
interface AnnouncedChanges {
  /** Names of collections. */
  readonly collections: ReadonlySet<string>;
  /** Topic on which other processes learn of a change. */
  readonly topic: string;
  /**
   * Called before a commit that may change records of the collections resolves, even if its outcome
   * is unknown.
   */
  readonly onChange: () => void;
}

/**
 * Wraps records so that commits that may change or remove existing records of some collections are
 * announced. New records are not.
 */
export function withAnnouncedChanges(
  records: Records,
  { collections, topic, onChange }: AnnouncedChanges,
): Records {
  const mayChange = (operation: Operation): boolean => {
    switch (operation.kind) {
      case "put":
      case "replace":
      case "consume":
      case "remove":
        return collections.has(operation.collection);
      case "removeGroup":
        return true;
      case "insert":
      case "check":
      case "checkAbsent":
      case "checkList":
      case "append":
      case "announce":
        return false;
    }
  };
  return {
    ...records,
    async commit(operations) {
      if (!operations.some(mayChange)) return records.commit(operations);
      try {
        return await records.commit([...operations, announce(topic)]);
      } finally {
        onChange();
      }
    },
  };
}
