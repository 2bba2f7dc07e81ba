import { createHmac, timingSafeEqual } from "node:crypto";
import { Low } from "lowdb";
import { JSONFile } from "lowdb/node";

/** The content of the file, and the HMAC-SHA256 of its JSON text in base64url. */
interface Authenticated<T> {
  readonly mac: string;
  readonly content: T;
}

/**
 * A JSON file in the data folder, authenticated with a key, so that nobody without the key can
 * create or change it. It holds only data that may be lost without harm.
 */
export class AuthenticatedFile<T> {
  readonly #low: Low<Authenticated<T> | null>;
  readonly #key: Uint8Array;

  /** @param path Path of the file; its folder must exist. */
  constructor(path: string, key: Uint8Array) {
    this.#low = new Low<Authenticated<T> | null>(new JSONFile(path), null);
    this.#key = key;
  }

  /**
   * Reads the content; `undefined` if there is no file.
   *
   * @throws {Error} If the HMAC does not match.
   */
  async read(): Promise<T | undefined> {
    await this.#low.read();
    const { data } = this.#low;
    if (data === null) return undefined;
    const expected = Buffer.from(this.#macOf(data.content));
    const found = Buffer.from(String(data.mac));
    if (found.length === expected.length && timingSafeEqual(found, expected)) return data.content;
    throw new Error("it was not written by this service, or was changed since");
  }

  /** Replaces the file atomically: a concurrent reader sees the old content or the new one. */
  async write(content: T): Promise<void> {
    this.#low.data = { mac: this.#macOf(content), content };
    await this.#low.write();
  }

  #macOf(content: T): string {
    return createHmac("sha256", this.#key).update(JSON.stringify(content)).digest("base64url");
  }
}
