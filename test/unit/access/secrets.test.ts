import { describe, expect, it } from "vitest";
import {
  hashClientSecret,
  isHashedSecret,
  matchesClientSecret,
  withHashedSecret,
} from "../../../src/access/secrets.ts";
import { fingerprint } from "../../../src/lib/fingerprint.ts";

/** SHA-256 of "abc" (FIPS 180-2 appendix B.1) in base64url. */
const ABC = Buffer.from(
  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  "hex",
).toString("base64url");

describe("a stored client secret", () => {
  it("is the SHA-256 of the secret", () => {
    expect(fingerprint("abc")).toBe(ABC);
    expect(hashClientSecret("abc")).toBe(`sha256:${ABC}`);
  });

  it("can be distinguished from a secret that is not hashed", () => {
    expect(isHashedSecret(hashClientSecret("abc"))).toBe(true);
    for (const other of ["abc", "", undefined, null, 7]) expect(isHashedSecret(other)).toBe(false);
  });

  it("matches only the original secret", () => {
    const kept = hashClientSecret("abc");
    expect(matchesClientSecret(kept, "abc")).toBe(true);
    for (const guess of ["", "ab", "abcd", kept, ABC])
      expect(matchesClientSecret(kept, guess)).toBe(false);
    expect(matchesClientSecret(undefined, "undefined")).toBe(false);
    expect(matchesClientSecret("abc", "abc")).toBe(false);
  });
});

describe("the body of a client update", () => {
  const hashed = (text: string) => withHashedSecret(Buffer.from(text)).toString();

  it("has its client secret hashed and is otherwise unchanged", () => {
    const body = '{"a":{"client_secret":"abc"},"client_secret":"abc","__proto__":{"b":1}}';
    expect(hashed(body)).toBe(body.replace(':"abc",', `:"sha256:${ABC}",`));
  });

  it("has the last of two secrets hashed, since JSON parsers use the last duplicate member", () => {
    const body = '{"client_secret":"x","client_secret":"abc"}';
    expect(JSON.parse(hashed(body))).toEqual({ client_secret: `sha256:${ABC}` });
  });

  it.each(["", "{oops", "null", "7", "[]", "{}", '{ "client_secret": 7 }', '"client_secret"'])(
    "is unchanged when it is %j",
    (body) => {
      expect(hashed(body)).toBe(body);
    },
  );
});
