import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { cosign, cosignaturesOf } from "../../../src/log/witness/cosignature.ts";
import { checkpointText, parseCheckpoint } from "../../../src/tree/checkpoint.ts";
import { leafHash } from "../../../src/tree/merkle.ts";
import {
  createLogNoteSigner,
  createWitnessNoteSigner,
  parseLogVerifier,
  parseWitnessVerifier,
  verifierText,
} from "../../../src/tree/note-keys.ts";
import { signNote, verifyNote } from "../../../src/tree/note-signatures.ts";
import { parseNote, withoutLongSignatures } from "../../../src/tree/signed-note.ts";

/**
 * A verifier key and a signed checkpoint from the tests of filippo.io/torchwood
 * (cmd/litewitness/testdata/mldsa.txt).
 */
const [KEY = "", ...REST] = readFileSync(
  new URL("../../fixtures/log/ml-dsa-44.txt", import.meta.url),
  "utf8",
).split("\n\n");
const CHECKPOINT = REST.join("\n\n");

const mlDsaKey = () => generateKeyPairSync("ml-dsa-44").privateKey;

const tree = (size: number) =>
  checkpointText({ origin: "log.example/1", size, root: leafHash(`${size}`) });

it("an ML-DSA-44 checkpoint signature made by another implementation is verified", () => {
  const { note, size } = parseCheckpoint(CHECKPOINT);
  const verifier = parseLogVerifier(KEY);
  expect(size).toBe(1);
  expect(verifyNote(note, [verifier])).toEqual([verifier]);
  const other = { ...note, text: note.text.replace("\n1\n", "\n2\n") };
  expect(() => verifyNote(other, [verifier])).toThrow("does not fit");
  const renamed = { ...verifier, name: "example.com/other" };
  const signatures = note.signatures.map((one) => ({ ...one, name: renamed.name }));
  expect(() => verifyNote({ ...note, signatures }, [renamed])).toThrow("does not fit");
});

it("a checkpoint signed with an Ed25519 key and an ML-DSA-44 key is verified with either key", () => {
  const signers = [
    createLogNoteSigner("log.example/1", generateKeyPairSync("ed25519").privateKey),
    createLogNoteSigner("log.example/1", mlDsaKey()),
  ];
  const signed = signNote(tree(7), signers);
  for (const signer of signers) {
    const verifier = parseLogVerifier(verifierText(signer));
    expect(verifier).toMatchObject({ keyId: signer.keyId, type: signer.type });
    expect(verifyNote(parseNote(signed), [verifier])).toEqual([verifier]);
    expect(() => verifyNote(parseNote(signed.replace("\n7\n", "\n8\n")), [verifier])).toThrow(
      "does not fit",
    );
  }
  const [{ signature } = { signature: [] }] = parseNote(signed).signatures.slice(1);
  expect(signature).toHaveLength(8 + 2_420);
});

it("a short note contains the Ed25519 signature and omits the long ML-DSA-44 signature", () => {
  const [short, long] = [
    createLogNoteSigner("log.example/1", generateKeyPairSync("ed25519").privateKey),
    createLogNoteSigner("log.example/1", mlDsaKey()),
  ];
  expect(withoutLongSignatures(signNote(tree(7), [long, short]))).toBe(signNote(tree(7), [short]));
});

it("an ML-DSA-44 cosignature covers the time and the name of the witness", () => {
  const signer = createWitnessNoteSigner("witness.example/1", mlDsaKey());
  const now = Date.UTC(2026, 0, 2, 3, 4, 5);
  const body = tree(7);
  const cosigned = (text: string, name: string) =>
    parseNote(`${text}\n${cosign(body, signer, now).replace("witness.example/1", name)}`);
  const verifier = parseWitnessVerifier(verifierText(signer));
  const found = cosignaturesOf(cosigned(body, signer.name), [verifier]);
  expect(found).toMatchObject([{ verifier, at: now }]);
  expect(() => cosignaturesOf(cosigned(tree(8), signer.name), [verifier])).toThrow("does not fit");
  const other = { ...verifier, name: "witness.example/2" };
  expect(() => cosignaturesOf(cosigned(body, other.name), [other])).toThrow("does not fit");
});

it("an ML-DSA-44 signature without a timestamp is not accepted as a cosignature", () => {
  const key = mlDsaKey();
  const note = parseNote(signNote(tree(7), [createLogNoteSigner("witness.example/1", key)]));
  const verifier = parseWitnessVerifier(
    verifierText(createWitnessNoteSigner("witness.example/1", key)),
  );
  expect(() => cosignaturesOf(note, [verifier])).toThrow("does not fit");
});

it("an ML-DSA-44 key refuses to sign text that is not a checkpoint", () => {
  expect(() => signNote("text\n", [createLogNoteSigner("log.example/1", mlDsaKey())])).toThrow(
    "the checkpoint has no size",
  );
});

it.each([
  ["of the wrong length", KEY.replace(/A.{7}=$/, "")],
  ["with the wrong id", KEY.replace("b5df45c5", "b5df45c6")],
  ["of the wrong type", KEY.replace("+Bu", "+Au")],
])("a verifier key %s is rejected", (_, text) => {
  expect(() => parseLogVerifier(text)).toThrow(Error);
});
