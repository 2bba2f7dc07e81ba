import { type NoteVerifier, parseLogVerifier, parseWitnessVerifier } from "../../tree/note-keys.ts";
import type { Cosignature } from "./cosignature.ts";

/** Control characters other than tab and newline, which a policy must not contain. */
const CONTROL = /[^\t\n\u{20}-\u{7e}\u{80}-\u{10ffff}]/u;

/** Name of the quorum that requires no witness. */
const NONE = "none";

/** A log that a policy accepts. */
interface PolicyLog {
  /** Verifier key as written in the file. */
  readonly key: string;
  readonly verifier: NoteVerifier;
}

/** A witness that a policy defines. */
export interface PolicyWitness {
  /** Name of the witness within the file. */
  readonly name: string;
  readonly verifier: NoteVerifier;
  /** URL prefix of the witness (C2SP tlog-witness), without a trailing slash. */
  readonly url: string | undefined;
}

/** A group of witnesses and how many of them must cosign. */
interface Group {
  readonly threshold: number;
  readonly members: readonly string[];
}

/** The logs that are accepted, and the cosignatures that a checkpoint needs (C2SP tlog-policy). */
export class WitnessPolicy {
  readonly logs: readonly PolicyLog[];
  readonly witnesses: readonly PolicyWitness[];
  readonly #groups: ReadonlyMap<string, Group>;
  readonly #quorum: string;

  /**
   * Parses a policy.
   *
   * @throws {Error} If the text is not a policy; the message gives the wrong line.
   */
  constructor(text: string) {
    const file = new PolicyFile();
    if (CONTROL.test(text)) throw new Error("the policy has a control character");
    for (const [at, line] of text.split("\n").entries()) {
      try {
        file.read(line);
      } catch (error) {
        throw new Error(`line ${at + 1}: ${(error as Error).message}`);
      }
    }
    if (file.quorum === undefined) throw new Error("the policy has no quorum line");
    this.logs = file.logs;
    this.witnesses = file.witnesses;
    this.#groups = file.groups;
    this.#quorum = file.quorum;
  }

  /** Verifier keys of all witnesses. */
  get verifiers(): readonly NoteVerifier[] {
    return this.witnesses.map(({ verifier }) => verifier);
  }

  /** Whether the cosignatures reach the quorum. */
  hasQuorum(cosignatures: readonly Cosignature[]): boolean {
    const cosigned = new Set(cosignatures.map(({ verifier }) => verifier));
    return this.#quorum === NONE || this.#isMet(this.#quorum, cosigned);
  }

  /**
   * When the cosignatures reached the quorum, Unix milliseconds; `undefined` if they have not, or
   * if the policy requires no witness.
   */
  quorumAt(cosignatures: readonly Cosignature[]): number | undefined {
    if (this.#quorum === NONE) return undefined;
    const inOrder = cosignatures.toSorted((a, b) => a.at - b.at);
    const enough = inOrder.findIndex((_, at) => this.hasQuorum(inOrder.slice(0, at + 1)));
    return inOrder[enough]?.at;
  }

  #isMet(name: string, cosigned: ReadonlySet<NoteVerifier>): boolean {
    const group = this.#groups.get(name);
    if (group === undefined) {
      const witness = this.witnesses.find((one) => one.name === name);
      return witness !== undefined && cosigned.has(witness.verifier);
    }
    const met = group.members.filter((member) => this.#isMet(member, cosigned));
    return met.length >= group.threshold;
  }
}

/** Parser state of a policy file, which is read line by line. */
class PolicyFile {
  readonly logs: PolicyLog[] = [];
  readonly witnesses: PolicyWitness[] = [];
  readonly groups = new Map<string, Group>();
  quorum: string | undefined;
  readonly #members = new Set<string>();

  read(line: string): void {
    const [keyword, ...items] = line.split(/[ \t]+/).filter((item) => item !== "");
    if (keyword === undefined || keyword.startsWith("#")) return;
    if (keyword === "log") this.#addLog(items);
    else if (keyword === "witness") this.#addWitness(items);
    else if (keyword === "group") this.#addGroup(items);
    else if (keyword === "quorum") this.#setQuorum(items);
    else throw new Error(`"${keyword}" is not log, witness, group or quorum`);
  }

  #addLog([key, url, ...rest]: readonly string[]): void {
    if (key === undefined || rest.length > 0) throw new Error("expected log <key> [<url>]");
    if (url !== undefined) checkUrl(url);
    const verifier = parseLogVerifier(key);
    if (this.logs.some((other) => isSameKey(other.verifier, verifier))) {
      throw new Error("the key of this log stands in an earlier line");
    }
    this.logs.push({ key, verifier });
  }

  #addWitness([name, key, url, ...rest]: readonly string[]): void {
    if (name === undefined || key === undefined || rest.length > 0) {
      throw new Error("expected witness <name> <key> [<url>]");
    }
    this.#checkNew(name);
    if (url !== undefined) checkUrl(url);
    const verifier = parseWitnessVerifier(key);
    if (this.witnesses.some((other) => isSameKey(other.verifier, verifier))) {
      throw new Error("the key of this witness stands in an earlier line");
    }
    this.witnesses.push({ name, verifier, url: url?.replace(/\/$/, "") });
  }

  #addGroup([name, count = "", ...members]: readonly string[]): void {
    if (name === undefined || members.length === 0) {
      throw new Error("expected group <name> <all, any or a number> <name>...");
    }
    this.#checkNew(name);
    for (const member of members) {
      this.#checkKnown(member);
      if (this.#members.has(member)) throw new Error(`${member} is a member already`);
      this.#members.add(member);
    }
    this.groups.set(name, { threshold: thresholdOf(count, members.length), members });
  }

  #setQuorum([name, ...rest]: readonly string[]): void {
    if (name === undefined || rest.length > 0) throw new Error("expected quorum <name>");
    if (this.quorum !== undefined) throw new Error("there is a quorum line already");
    if (name !== NONE) this.#checkKnown(name);
    this.quorum = name;
  }

  #has(name: string): boolean {
    return this.groups.has(name) || this.witnesses.some((one) => one.name === name);
  }

  #checkNew(name: string): void {
    if (name === NONE || this.#has(name)) throw new Error(`the name ${name} is taken`);
  }

  #checkKnown(name: string): void {
    if (!this.#has(name)) throw new Error(`no earlier line defines ${name}`);
  }
}

function thresholdOf(count: string, members: number): number {
  if (count === "any") return 1;
  if (count === "all") return members;
  const threshold = /^[1-9]\d*$/.test(count) ? Number(count) : 0;
  if (threshold < 1 || threshold > members) {
    throw new Error(`"${count}" is not all, any or a number from 1 to ${members}`);
  }
  return threshold;
}

/**
 * Whether two keys are equal. OpenSSL can compare only keys of one type; comparing keys of
 * different types makes a later call fail.
 */
const isSameKey = (one: NoteVerifier, other: NoteVerifier): boolean =>
  one.type === other.type && one.publicKey.equals(other.publicKey);

function checkUrl(url: string): void {
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? "")) throw new Error(`"${url}" is no address`);
}

/**
 * Parses the policy in a file.
 *
 * @throws {Error} If the text is not a policy; the message gives the path of the file.
 */
export function parseWitnessPolicy(text: string, path: string): WitnessPolicy {
  try {
    return new WitnessPolicy(text);
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}.`);
  }
}
