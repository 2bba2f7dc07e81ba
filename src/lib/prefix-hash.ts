import { createHash } from "node:crypto";

/** Number of bytes that are buffered before they are hashed. */
const BUFFER_BYTES = 65_536;

/**
 * Length up to which a text is written character by character, in UTF-16 units; this is faster for
 * short texts.
 */
const SHORT_TEXT = 32;

/** Size of the length field before a text, in bytes. */
const LENGTH_BYTES = 4;

/** Maximum number of UTF-8 bytes per UTF-16 code unit. */
const UNIT_BYTES = 3;

/**
 * SHA-256 of a growing sequence, whose digest can be read after every element. A number is encoded
 * in eight bytes (IEEE 754, big endian), a text as its length and its UTF-8 bytes, so that no two
 * different sequences of the same types have the same bytes.
 */
export class PrefixHash {
  readonly #hash = createHash("sha256");
  readonly #buffer = Buffer.alloc(BUFFER_BYTES);
  readonly #view = new DataView(this.#buffer.buffer, this.#buffer.byteOffset, BUFFER_BYTES);
  #used = 0;

  /** Adds a number; all NaN values are encoded alike. */
  number(value: number): void {
    if (this.#used + 8 > BUFFER_BYTES) this.#flush();
    this.#view.setFloat64(this.#used, Number.isNaN(value) ? Number.NaN : value);
    this.#used += 8;
  }

  /** Adds a text. */
  text(value: string): void {
    const most = LENGTH_BYTES + UNIT_BYTES * value.length;
    if (this.#used + most > BUFFER_BYTES) this.#flush();
    if (most > BUFFER_BYTES) {
      this.#writeLength(Buffer.byteLength(value));
      this.#flush();
      this.#hash.update(value);
      return;
    }
    const start = this.#used + LENGTH_BYTES;
    const bytes = this.#writeShort(value, start) ?? this.#buffer.write(value, start);
    this.#writeLength(bytes);
    this.#used += bytes;
  }

  /** SHA-256 of all elements so far, in hexadecimal. */
  digest(): string {
    this.#flush();
    return this.#hash.copy().digest("hex");
  }

  #writeLength(bytes: number): void {
    this.#view.setUint32(this.#used, bytes);
    this.#used += LENGTH_BYTES;
  }

  /**
   * Writes a short ASCII text.
   * @returns The number of bytes written; `undefined` for any other text, which is not written.
   */
  #writeShort(value: string, start: number): number | undefined {
    if (value.length > SHORT_TEXT) return undefined;
    for (let index = 0; index < value.length; index++) {
      const code = value.charCodeAt(index);
      if (code > 0x7f) return undefined;
      this.#buffer[start + index] = code;
    }
    return value.length;
  }

  #flush(): void {
    this.#hash.update(this.#buffer.subarray(0, this.#used));
    this.#used = 0;
  }
}
