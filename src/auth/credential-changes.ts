import { accounts } from "../principals/accounts/accounts.ts";
import { grants } from "../principals/accounts/grants.ts";
import { clients } from "../principals/agents/agent.ts";
import { apiKeys } from "../principals/keys/api-keys.ts";
import { withAnnouncedChanges } from "../store/announced-changes.ts";
import type { Store } from "../store/port/store.ts";

/** Topic of the announcement to other processes that a credential has changed. */
const TOPIC = "credentials";

/** Collections whose records determine whether a credential is valid, and which scopes it has. */
const credentialCollections: ReadonlySet<string> = new Set([
  ...["oidc:AccessToken", "oidc:ClientCredentials"],
  ...[clients.name, grants.name, accounts.name, apiKeys.name],
]);

/** A store whose commits notify listeners of changed credentials. */
interface CredentialChanges {
  readonly store: Store;
  /**
   * Registers a listener for commits that may have revoked or changed a credential. The listener
   * runs before a commit of this process resolves, even if the outcome is unknown, and when a
   * commit of another process is announced.
   * @returns A function that removes the listener.
   */
  onCredentialChange(listener: () => void): () => void;
}

/** Wraps a store so that its commits notify the listeners. */
export function watchCredentials(store: Store): CredentialChanges {
  const listeners = new Set<{ readonly listener: () => void }>();
  const notify = () => {
    for (const { listener } of listeners) listener();
  };
  const { records } = store;
  records.onAnnounce(TOPIC, notify);
  return {
    store: {
      ...store,
      // Read on every access, because loading a dump changes the identity.
      get identity() {
        return store.identity;
      },
      records: withAnnouncedChanges(records, {
        collections: credentialCollections,
        topic: TOPIC,
        onChange: notify,
      }),
    },
    onCredentialChange(listener) {
      const added = { listener };
      listeners.add(added);
      return () => void listeners.delete(added);
    },
  };
}
