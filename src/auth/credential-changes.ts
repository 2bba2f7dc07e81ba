import { announce } from "../store/port/operations.ts";
import type { Operation, Records } from "../store/port/records.ts";
import type { Store } from "../store/port/store.ts";
import { accounts } from "./accounts/accounts.ts";
import { grants } from "./accounts/grants.ts";
import { clients } from "./agents/agent.ts";
import { apiKeys } from "./keys/api-keys.ts";

/** Topic of the announcement to all processes. */
const TOPIC = "credentials";

/** Collections that decide whether a credential is good, and for what. */
const deciding: ReadonlySet<string> = new Set([
  ...["oidc:AccessToken", "oidc:ClientCredentials"],
  ...[clients.name, grants.name, accounts.name, apiKeys.name],
]);

/** A store that reports changes of credentials. */
interface CredentialChanges {
  readonly store: Store;
  /** Listens for commits that may have ended or changed a credential. Listeners run before a
   *  commit of this process resolves, also when its outcome is unknown; for commits of others,
   *  when they are announced. @returns Stops listening. */
  onCredentialChange(listener: () => void): () => void;
}

/** Watches what is committed to a store. */
export function watchCredentials(store: Store): CredentialChanges {
  const listeners = new Set<{ readonly listener: () => void }>();
  const tell = () => {
    for (const { listener } of listeners) listener();
  };
  const { records } = store;
  records.onAnnounce(TOPIC, tell);
  return {
    store: {
      ...store,
      // It is another one after a load.
      get identity() {
        return store.identity;
      },
      records: telling(records, tell),
    },
    onCredentialChange(listener) {
      const added = { listener };
      listeners.add(added);
      return () => void listeners.delete(added);
    },
  };
}

function telling(records: Records, tell: () => void): Records {
  return {
    ...records,
    async commit(operations) {
      if (!operations.some(mayEndCredential)) return records.commit(operations);
      try {
        return await records.commit([...operations, announce(TOPIC)]);
      } finally {
        tell();
      }
    },
  };
}

/** An insert affects no credential: nothing depends yet on a record that was not there. */
function mayEndCredential(operation: Operation): boolean {
  switch (operation.kind) {
    case "put":
    case "replace":
    case "consume":
    case "remove":
      return deciding.has(operation.collection);
    case "removeGroup":
      return true;
    case "insert":
    case "check":
    case "append":
    case "announce":
      return false;
  }
}
