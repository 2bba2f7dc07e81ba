import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { checkpointText, parseCheckpoint } from "../../../src/tree/checkpoint.ts";
import { leafHash } from "../../../src/tree/merkle.ts";
import {
  createLogNoteSigner,
  parseLogVerifier,
  verifierText,
} from "../../../src/tree/note-keys.ts";
import { signNote, verifyNote } from "../../../src/tree/note-signatures.ts";
import { parseNote } from "../../../src/tree/signed-note.ts";
import { parseProof, proofText } from "../../../src/tree/tlog-proof.ts";

/** The example of C2SP signed-note. */
const EXAMPLE_KEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
const EXAMPLE = `This is an example message.

— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=
`;

/** The example of C2SP tlog-checkpoint, which does not include its key. */
const CHECKPOINT = `example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
`;

const signerOf = (name: string) =>
  createLogNoteSigner(name, generateKeyPairSync("ed25519").privateKey);

describe("signed notes", () => {
  it("are verified as in the C2SP signed-note example", () => {
    const note = parseNote(EXAMPLE);
    expect(note.text).toBe("This is an example message.\n");
    const [found] = verifyNote(note, [parseLogVerifier(EXAMPLE_KEY)]);
    expect(found).toMatchObject({ name: "example.com/foo", keyId: "530d903a" });
  });

  it("ignore signatures of unknown keys, but not a wrong signature of a known key", () => {
    const [ours, witness] = [signerOf("log.example/1"), signerOf("witness.example")];
    const verifier = parseLogVerifier(verifierText(ours));
    const note = parseNote(signNote("text\n", [witness, ours]));
    expect(verifyNote(note, [verifier])).toEqual([verifier]);
    expect(() => verifyNote(note, [parseLogVerifier(EXAMPLE_KEY)])).toThrow("no known key");
    expect(() => verifyNote({ ...note, text: "other\n" }, [verifier])).toThrow("does not fit");
    const namesake = parseLogVerifier(verifierText(signerOf("log.example/1")));
    expect(() => verifyNote(note, [namesake])).toThrow("no known key");
  });

  it("may have empty lines in their text, which ends at the last empty line", () => {
    const signer = signerOf("log.example/1");
    const note = parseNote(signNote("one\n\ntwo\n", [signer]));
    expect(note.text).toBe("one\n\ntwo\n");
    expect(verifyNote(note, [parseLogVerifier(verifierText(signer))])).toHaveLength(1);
  });

  it("are rejected when malformed", () => {
    for (const text of [
      ...["", "text\n", "text\n\n", "text\n\n— name\n", `${EXAMPLE}\n`, EXAMPLE.trimEnd()],
      ...[EXAMPLE.replace("—", "-"), EXAMPLE.replace("message", "mess\tage"), `\uD800${EXAMPLE}`],
      ...[EXAMPLE.replace("IneyaQM=", "IneyaQM"), EXAMPLE.replace(/Uw2Q.*/, "Uw2QOg==")],
      EXAMPLE.replace("foo ", "foo  "),
      ...[EXAMPLE.replace("message", "mess\u009bage"), EXAMPLE.replace("foo ", "foo\u007f ")],
    ]) {
      expect(() => verifyNote(parseNote(text), [parseLogVerifier(EXAMPLE_KEY)]), text).toThrow(
        Error,
      );
    }
  });

  it("cannot be verified with malformed keys", () => {
    for (const text of [
      ...["", "name", EXAMPLE_KEY.replace("530d", "530e"), EXAMPLE_KEY.replace("+Ae", "+Be")],
      ...[EXAMPLE_KEY.replace("foo", "fo o"), EXAMPLE_KEY.slice(0, -4)],
    ]) {
      expect(() => parseLogVerifier(text), text).toThrow(Error);
    }
  });

  it("have names that control no terminal, of at most 255 bytes", () => {
    const bad = [
      "\u009b2J",
      "a\u0085b",
      "a\u007f",
      "a\u202eb",
      "a\u2028b",
      "\u001b_",
      "é".repeat(128),
    ];
    for (const name of bad) {
      expect(() => signerOf(name), JSON.stringify(name)).toThrow("cannot be the name of a key");
      const key = EXAMPLE_KEY.replace("example.com/foo", name);
      // The text of a peer is not repeated.
      expect(() => parseLogVerifier(key)).toThrow(
        new RegExp(`^a text of ${key.length} characters is not a key of a log: [ -~]+$`),
      );
      const checkpoint = CHECKPOINT.replace("example.com/behind-the-sofa\n2", `${name}\n2`);
      expect(() => parseCheckpoint(checkpoint)).toThrow(/^this is not a (checkpoint|signed note)$/);
    }
    expect(signerOf("é".repeat(127)).name).toHaveLength(127);
  });
});

describe("checkpoints in text form", () => {
  it("are parsed and written as in the C2SP tlog-checkpoint example", () => {
    const found = parseCheckpoint(CHECKPOINT);
    expect(found).toMatchObject({ origin: "example.com/behind-the-sofa", size: 20_852_163 });
    expect(checkpointText(found)).toBe(found.note.text);
  });

  it("are rejected when malformed", () => {
    for (const [from, to] of [
      ["20852163", "020852163"],
      ["20852163", "-1"],
      ["20852163", "9007199254740993"],
      ["CsUY", "Cs"],
      ["example.com/behind-the-sofa\n2", "\n2"],
    ] as const) {
      expect(() => parseCheckpoint(CHECKPOINT.replace(from, to)), to).toThrow(Error);
    }
  });
});

describe("inclusion proofs in text form", () => {
  const signer = signerOf("log.example/1");
  const root = leafHash(Buffer.from("entry"));
  const checkpoint = signNote(checkpointText({ origin: signer.name, size: 1, root }), [signer]);
  const whole = { index: 12, proof: [root, root], checkpoint, extra: Buffer.from("entry") };

  it("are parsed to the same values that were written", () => {
    for (const one of [whole, { index: 0, proof: [], checkpoint }]) {
      expect(parseProof(proofText(one))).toMatchObject(one);
    }
    expect(proofText(whole)).toMatch(/^c2sp\.org\/tlog-proof@v1\nextra ZW50cnk=\nindex 12\n/);
  });

  it("are rejected when malformed", () => {
    const text = proofText(whole);
    for (const [from, to] of [
      ["@v1", "@v2"],
      ["index 12", "index 012"],
      ["index 12\n", ""],
      ["extra ZW50cnk=", "extra ZW50cnk"],
      ["\n\nlog", "\nlog"],
      [Buffer.from(root).toString("base64"), "AAAA"],
    ] as const) {
      expect(() => parseProof(text.replace(from, to)), from).toThrow(Error);
    }
    expect(() => parseProof("")).toThrow("this is not a proof");
  });
});
