import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openKeyring } from "../../../src/keys/keyring.ts";
import { createKeyringVault } from "../../../src/keys/keyring-vault.ts";
import { createVault } from "../../../src/keys/vault.ts";
import { embedded, openStore, START } from "../../support/stores.ts";

const key = randomBytes(32);
const vault = createVault(key);

describe("the vault for encrypted secrets", () => {
  it("decrypts any text that it encrypted, in the same context", () => {
    const anyText = fc.string({ unit: "grapheme" });
    const property = fc.property(anyText, anyText, (secret, context) => {
      expect(createVault(key).open(vault.seal(secret, context), context)).toBe(secret);
    });
    fc.assert(property, { seed: 3 });
  });

  it("encrypts the same text differently each time, and discloses no part of it", () => {
    const sealed = Array.from({ length: 100 }, () => vault.seal("secret", "here"));
    expect(new Set(sealed).size).toBe(100);
    expect(sealed[0]).toMatch(/^v1\.[\w-]+$/);
    expect(Buffer.from(sealed[0]?.slice(3) ?? "", "base64url").includes("secret")).toBe(false);
  });

  it("does not decrypt with another key or in another context", () => {
    const sealed = vault.seal("secret", "here");
    expect(() => createVault(randomBytes(32)).open(sealed, "here")).toThrow();
    expect(() => vault.open(sealed, "there")).toThrow();
  });

  it("does not decrypt a changed, truncated or foreign value", () => {
    const sealed = vault.seal("secret", "here");
    const bytes = Buffer.from(sealed.slice(3), "base64url");
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes.with(at, (bytes[at] ?? 0) ^ 1)).toString("base64url");
      expect(() => vault.open(`v1.${changed}`, "here")).toThrow();
      const cut = bytes.subarray(0, at).toString("base64url");
      expect(() => vault.open(`v1.${cut}`, "here")).toThrow();
    }
    expect(() => vault.open(sealed.replace("v1.", "v2."), "here")).toThrow("unknown version");
  });
});

describe("the vault of the keyring", () => {
  it("decrypts secrets encrypted before a key rotation, and encrypts with the new key", async () => {
    const { records } = await openStore(embedded);
    const options = { records, masterKey: randomBytes(32), now: () => START };
    const keyring = await openKeyring(options);
    const following = createKeyringVault(keyring);
    const before = following.seal("code", "here");
    await keyring.rotate("secret-encryption", { actor: "operator" });
    const after = following.seal("code", "here");
    expect([before, after].map((sealed) => following.open(sealed, "here"))).toEqual([
      "code",
      "code",
    ]);
    const [newest] = keyring.keys("secret-encryption");
    const alone = createVault(Buffer.from(newest.jwk.k, "base64url"));
    expect(alone.open(after, "here")).toBe("code");
    expect(() => alone.open(before, "here")).toThrow();
    expect(() => following.open(before, "there")).toThrow();
  });
});
