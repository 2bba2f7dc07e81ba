import { createHash } from "node:crypto";

/** Bytes that are collected before they are hashed. */
const BUFFER_BYTES = 65_536;

/** Length of a text whose characters are written one by one, which is faster for short ones. */
const SHORT_TEXT = 32;

/** Bytes before a text, which are its length. */
const LENGTH_BYTES = 4;

/** Maximum bytes of a UTF-16 code unit in UTF-8. */
const UNIT_BYTES = 3;

/**
 * SHA-256 of a growing sequence, readable after every element. Numbers take eight bytes (IEEE 754, big
 * endian), texts their length and UTF-8, so that no two sequences of the same types have the same bytes.
 */
export class PrefixHash {
  readonly #hash = createHash("sha256");
  readonly #buffer = Buffer.alloc(BUFFER_BYTES);
  readonly #view = new DataView(this.#buffer.buffer, this.#buffer.byteOffset, BUFFER_BYTES);
  #used = 0;

  /** Adds a number; all NaN are one. */
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

  /** SHA-256 of everything so far, in hexadecimal. */
  digest(): string {
    this.#flush();
    return this.#hash.copy().digest("hex");
  }

  #writeLength(bytes: number): void {
    this.#view.setUint32(this.#used, bytes);
    this.#used += LENGTH_BYTES;
  }

  /** Writes a short ASCII text. @returns Its bytes; `undefined` for any other text. */
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
