/** A resource that is opened on first use, such as a client whose code is loaded only then. */
interface LazyResource<T> {
  /**
   * Returns the resource, which is opened on the first call; after a failure, the next call tries
   * again.
   */
  get(): Promise<T>;
  /** Runs an action if the resource is open or being opened. */
  ifOpen(act: (opened: T) => unknown): Promise<void>;
}

/**
 * Creates a resource that is opened on first use.
 * @param open Opens the resource: loads the code, or connects.
 */
export function lazyResource<T extends object>(open: () => Promise<T>): LazyResource<T> {
  let opened: Promise<T> | undefined;
  return {
    get() {
      opened ??= open().catch((error) => {
        opened = undefined;
        throw error;
      });
      return opened;
    },
    async ifOpen(act) {
      const known = await opened?.catch(() => undefined);
      if (known !== undefined) await act(known);
    },
  };
}
