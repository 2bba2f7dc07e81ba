import { describe, expect, it } from "vitest";
import {
  createFirstSecret,
  createNextSecret,
  decryptSigningSecrets,
  isSigningSecret,
  SECRET_ROTATION_OVERLAP_MS,
} from "../../../../src/alerts/delivery/signing.ts";
import { createVault } from "../../../../src/keys/vault.ts";

const vault = createVault(Buffer.alloc(32, 7));
const place = { alertId: "alert_0123456789abcdef", vault };
const NOW = 1_800_000_000_000;

describe("the secrets of a webhook", () => {
  it("are returned once and stored encrypted", () => {
    const { secret, sealed } = createFirstSecret(place);
    expect(isSigningSecret(secret)).toBe(true);
    expect(JSON.stringify(sealed)).not.toContain(secret.slice(6));
    expect(sealed.previous).toBeNull();
    expect(decryptSigningSecrets(sealed, place, NOW)).toEqual([secret]);
  });

  it("overlap for a day after a rotation, with the new secret first", () => {
    const first = createFirstSecret(place);
    const second = createNextSecret(first.sealed, place, NOW);
    const both = [second.secret, first.secret];
    expect(second.secret).not.toBe(first.secret);
    expect(SECRET_ROTATION_OVERLAP_MS).toBe(24 * 3_600_000);
    expect(decryptSigningSecrets(second.sealed, place, NOW)).toEqual(both);
    expect(
      decryptSigningSecrets(second.sealed, place, NOW + SECRET_ROTATION_OVERLAP_MS - 1),
    ).toEqual(both);
    expect(decryptSigningSecrets(second.sealed, place, NOW + SECRET_ROTATION_OVERLAP_MS)).toEqual([
      second.secret,
    ]);
  });

  it("are never more than two", () => {
    const first = createFirstSecret(place);
    const second = createNextSecret(first.sealed, place, NOW);
    const third = createNextSecret(second.sealed, place, NOW + 1);
    expect(decryptSigningSecrets(third.sealed, place, NOW + 2)).toEqual([
      third.secret,
      second.secret,
    ]);
  });

  it("can be decrypted only for their own alert", () => {
    const { sealed } = createFirstSecret(place);
    const elsewhere = { ...place, alertId: "alert_fedcba9876543210" };
    expect(() => decryptSigningSecrets(sealed, elsewhere, NOW)).toThrow();
  });
});
