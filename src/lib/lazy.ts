/** Something that is opened when it is first needed, such as connections whose code is loaded then. */
export interface Lazy<T> {
  /** Opens it, once; where that failed, again. */
  get(): Promise<T>;
  /** Does something with it when it is open, or about to be. */
  ifOpen(act: (opened: T) => unknown): Promise<void>;
}

/** @param open Loads or connects. */
export function lazy<T extends object>(open: () => Promise<T>): Lazy<T> {
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
