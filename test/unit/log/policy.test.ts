import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { parseWitnessPolicy, WitnessPolicy } from "../../../src/log/witness/policy.ts";
import {
  createLogNoteSigner,
  createWitnessNoteSigner,
  verifierText,
} from "../../../src/tree/note-keys.ts";

const keyOf = (name: string) =>
  verifierText(createWitnessNoteSigner(name, generateKeyPairSync("ed25519").privateKey));

const LOG = verifierText(
  createLogNoteSigner("log.example", generateKeyPairSync("ed25519").privateKey),
);
const [X1, X2, X3, Y1, Y2] = ["x1", "x2", "x3", "y1", "y2"].map(keyOf) as [
  ...[string, string, string, string, string],
];

/** The example of C2SP tlog-policy, with a URL added to one witness. */
const EXAMPLE = `
# Two operators
log ${LOG}
 witness X1\t${X1} https://x1.example/w/
witness X2 ${X2}
witness X3 ${X3}
group X-witnesses 2 X1 X2 X3
witness Y1 ${Y1}
witness Y2 ${Y2}
group Y-witnesses any Y1 Y2
group X-and-Y all X-witnesses Y-witnesses
quorum X-and-Y
`;

/** Cosignatures of the named witnesses, one second apart. */
const by = (policy: WitnessPolicy, ...names: readonly string[]) =>
  names.map((name, at) => {
    const verifier = policy.witnesses.find((one) => one.name === name)?.verifier;
    if (verifier === undefined) throw new Error(`${name} is unknown`);
    return { verifier, at: 1_000 * at, line: "" };
  });

describe("a witness policy", () => {
  it("lists its logs, and its witnesses with their URLs", () => {
    const policy = new WitnessPolicy(EXAMPLE);
    expect(policy.logs.map(({ key }) => key)).toEqual([LOG]);
    expect(policy.witnesses.map(({ name, url }) => [name, url])).toEqual([
      ["X1", "https://x1.example/w"],
      ...["X2", "X3", "Y1", "Y2"].map((name) => [name, undefined]),
    ]);
  });

  it("can have a quorum of nested groups, which is reached when the last required witness has signed", () => {
    const policy = new WitnessPolicy(EXAMPLE);
    expect(policy.hasQuorum(by(policy, "X1", "X2", "X3"))).toBe(false);
    expect(policy.hasQuorum(by(policy, "X1", "Y1", "Y2"))).toBe(false);
    expect(policy.hasQuorum(by(policy, "X1", "X3", "Y2"))).toBe(true);
    expect(policy.quorumAt(by(policy, "X1", "X3", "Y2", "X2"))).toBe(2_000);
    expect(policy.quorumAt(by(policy, "X1", "X3"))).toBeUndefined();
  });

  it("accepts several Ed25519 and ML-DSA-44 keys", () => {
    const ed25519 = () => generateKeyPairSync("ed25519").privateKey;
    const mlDsa = () => generateKeyPairSync("ml-dsa-44").privateKey;
    const made = [ed25519(), mlDsa(), ed25519(), mlDsa()];
    const keys = made.map((key) => verifierText(createLogNoteSigner("log.example", key)));
    const lines = keys.map((key) => `log ${key}\n`).join("");
    expect(new WitnessPolicy(`${lines}quorum none\n`).logs.map(({ key }) => key)).toEqual(keys);
    // A failed key comparison leaves an entry in OpenSSL's error queue, which must not make the
    // next key decoding fail.
    const pem = ed25519().export({ type: "pkcs8", format: "pem" });
    expect(createPrivateKey(pem).asymmetricKeyType).toBe("ed25519");
    expect(() => new WitnessPolicy(`${lines}log ${keys[3]}\nquorum none\n`)).toThrow(
      "earlier line",
    );
  });

  it("may require no witness, but then cannot prove when a checkpoint existed", () => {
    const policy = new WitnessPolicy(`log ${LOG}\nquorum none\n`);
    expect(policy.hasQuorum([])).toBe(true);
    expect(policy.quorumAt([])).toBeUndefined();
  });

  it.each([
    ["", "the policy has no quorum line"],
    ["quorum a", "line 1: no earlier line defines a"],
    ["quorum none\nquorum none", "line 2: there is a quorum line already"],
    ["quorum none\r", "the policy has a control character"],
    ["witnes a", 'line 1: "witnes" is not log, witness, group or quorum'],
    [`log ${X1}`, "is not a key of a log"],
    [`witness a ${LOG}`, "is not a key of a witness"],
    [`witness a ${X1.replace("x1", "x9")}`, "line 1: the id of the key"],
    [`log ${LOG}\nlog ${LOG}`, "line 2: the key of this log stands in an earlier line"],
    [`witness a ${X1}\nwitness b ${X1}`, "line 2: the key of this witness"],
    [`witness a ${X1}\nwitness a ${X2}`, "line 2: the name a is taken"],
    [`witness none ${X1}`, "line 1: the name none is taken"],
    [`witness a ${X1} file:///etc`, 'line 1: "file:///etc" is no address'],
    [`witness a ${X1}\ngroup g 2 a`, 'line 2: "2" is not all, any or a number from 1 to 1'],
    [`witness a ${X1}\ngroup g 01 a`, 'line 2: "01" is not all'],
    [`witness a ${X1}\ngroup g any a\ngroup h any a`, "line 3: a is a member already"],
    [`group g any a\nwitness a ${X1}`, "line 1: no earlier line defines a"],
    ["group g any none", "line 1: no earlier line defines none"],
  ])("rejects %j", (text, reason) => {
    expect(() => parseWitnessPolicy(text, "file")).toThrow(reason);
  });
});
