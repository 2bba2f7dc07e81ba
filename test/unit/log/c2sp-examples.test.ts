import { describe, expect, it } from "vitest";
import {
  formatAddCheckpointRequest,
  parseAddCheckpointRequest,
} from "../../../src/log/witness/add-checkpoint-request.ts";
import { cosignaturesOf } from "../../../src/log/witness/cosignature.ts";
import { checkpointText, parseCheckpoint } from "../../../src/tree/checkpoint.ts";
import { parseNote } from "../../../src/tree/signed-note.ts";
import { parseTilePath, tilePath } from "../../../src/tree/tile-path.ts";

/**
 * The checkpoint body in the examples of C2SP tlog-checkpoint, tlog-cosignature and tlog-witness.
 */
const BODY = `example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
`;

/** A signature line with its newline. */
const line = (name: string, signature: string) => `— ${name} ${signature}\n`;

const LOG_LINE = line(
  "example.com/behind-the-sofa",
  "Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=",
);

/** The cosigned checkpoint in C2SP tlog-cosignature. */
const COSIGNED = `${BODY}\n${LOG_LINE}${line(
  "witness.example.com/w1",
  "jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==",
)}`;

/** The witness response in C2SP tlog-witness. */
const ANSWER = [
  [
    "w1",
    "CMp+6LWBU0anHGH5aNDTJkH/gj79sG+T6+iP2ThYN5krrDJbR1HDnucjL39QsZTSvVjyQLrdk3DXDqI5G2HgLatVs0pWh6Up69HVOw==",
  ],
  [
    "w1",
    "I7rEps0pvK2UqkS2gSpVUDhrhVtQV9lgF6pRrWAvjJHjyWpW7VcE3SiOlVlbQNt64vWhO+DlkL0+UfzuOBMh9ChdMkP1vi/lCAsmlw==",
  ],
  [
    "w2",
    "AWui8Sk55XjYLOijihBjhqEH6nS1ndDymE0a+6idX7pLcnoB+dhnz0854aLZgrrKbYKA7nC3HNJhm/kWl7oJlqU3rXXvpysAdyP3wQ==",
  ],
] as const;

/** The add-checkpoint request in C2SP tlog-witness. */
const REQUEST = `old 20852014
PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=
jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=
5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=
/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=

${BODY}
${LOG_LINE}${line(
  "example.com/behind-the-sofa",
  "opLqBQsREYCgu6xQkYQwJr9fo45a62DN9EdmHXnZdXNqlcVGlCum2Wks+49/V6267UEjw6QUXTS5Rovnzv++qbSzm9Q=",
)}`;

/** Unix seconds of the cosignature in the example of C2SP tlog-cosignature. */
const COSIGNED_AT = 1_679_315_147n;

describe("the published examples of C2SP", () => {
  it("include a checkpoint with a cosignature, which consists of an 8-byte timestamp and a 64-byte signature", () => {
    const { size, note, ...tree } = parseCheckpoint(COSIGNED);
    expect(checkpointText({ ...tree, size })).toBe(BODY);
    expect(size).toBe(20_852_163);
    expect(note.signatures).toMatchObject([
      { name: "example.com/behind-the-sofa", keyId: "033de0ae" },
      { name: "witness.example.com/w1", keyId: "8d66cf3f" },
    ]);
    const bytes = Buffer.from(note.signatures[1]?.signature ?? []);
    expect(bytes.readBigUInt64BE()).toBe(COSIGNED_AT);
    expect(bytes).toHaveLength(8 + 64);
    expect(cosignaturesOf(note, [])).toEqual([]);
  });

  it("include a request to a witness, which is parsed and then written as the same text", () => {
    const { signed, ...request } = parseAddCheckpointRequest(REQUEST);
    expect(request).toMatchObject({ old: 20_852_014, proof: { length: 4 } });
    expect(signed.note.signatures).toHaveLength(2);
    expect(formatAddCheckpointRequest(request)).toBe(REQUEST);
  });

  it("include a response of a witness, which is parsed when appended to the checkpoint", () => {
    const answer = ANSWER.map(([name, signature]) => line(`witness.example/${name}`, signature));
    const { signatures } = parseNote(`${BODY}\n${LOG_LINE}${answer.join("")}`);
    expect(signatures.map(({ name, keyId }) => `${name} ${keyId}`)).toEqual([
      "example.com/behind-the-sofa 033de0ae",
      "witness.example/w1 08ca7ee8",
      "witness.example/w1 23bac4a6",
      "witness.example/w2 016ba2f1",
    ]);
  });

  it("include the path of tile 1234067, which is parsed and then written as the same path", () => {
    const tile = { level: 0, index: 1_234_067, width: 256 };
    expect(tilePath(tile)).toBe("0/x001/x234/067");
    expect(parseTilePath("0/x001/x234/067")).toEqual(tile);
  });
});
