import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { z } from "zod";
import { createFolder } from "../../lib/create-folder.ts";
import { writeDurably } from "../../lib/durable-file.ts";
import { parseWitnessPolicy } from "../../log/witness/policy.ts";
import { Witness } from "../../log/witness/witness.ts";
import { createWitnessServer } from "../../log/witness/witness-server.ts";
import { createWitnessNoteSigner, verifierText } from "../../tree/note-keys.ts";
import { isKeyName } from "../../tree/signed-note.ts";
import { defineLocalCommand } from "../command.ts";
import { waitForInterrupt, wholeNumberArgument } from "./shared.ts";

/** File name of a private key, and the function that generates the key. */
interface KeyFile {
  readonly file: string;
  readonly generate: () => KeyObject;
}

/**
 * The keys of a witness. Verifiers that do not support ML-DSA-44 ignore the cosignatures made with
 * the second key.
 */
const KEY_FILES: readonly KeyFile[] = [
  { file: "key.pem", generate: () => generateKeyPairSync("ed25519").privateKey },
  { file: "key-ml-dsa-44.pem", generate: () => generateKeyPairSync("ml-dsa-44").privateKey },
];

/** Cosigns the logs of other operators until it is interrupted. */
export const witnessLogsCommand = defineLocalCommand({
  summary: "Witnesses logs: cosigns their checkpoints as long as nothing that it saw was changed.",
  notes: [
    "The folder has its keys, made at the first start, and the last checkpoint of each log. Back up the",
    "keys only: a witness with an old checkpoint would cosign a fork. --logs is a file with a line",
    '"log <key>" for each log, as C2SP tlog-policy has it; GET /log/keys of a service has its keys.',
  ],
  operands: { folder: z.string("is missing: name a folder").min(1, "is empty") },
  options: {
    name: {
      value: "<name>",
      about: "name of the witness, such as w.example/1",
      schema: z.string("is missing").refine(isKeyName, "has spaces, a plus or control characters"),
    },
    logs: {
      value: "<file>",
      about: "the logs to witness",
      schema: z.string("is missing: name a file").min(1, "is empty"),
    },
    host: {
      value: "<address>",
      about: "where to listen (127.0.0.1)",
      schema: z.string().min(1, "is empty").default("127.0.0.1"),
    },
    port: {
      value: "<port>",
      about: "0 picks a free port (4100)",
      schema: wholeNumberArgument(0, 65_535).default(4100),
    },
  },

  async run({ folder: to, name, logs, host, port }, { folder: from, say }) {
    const folder = resolve(from, to);
    const policy = parseWitnessPolicy(await readFile(resolve(from, logs), "utf8"), logs);
    createFolder(folder);
    const signers = KEY_FILES.map((one) => createWitnessNoteSigner(name, keyIn(folder, one)));
    const witness = new Witness({
      path: join(folder, "cosigned.sqlite"),
      logs: policy.logs.map(({ verifier }) => verifier),
      signers,
      now: Date.now,
      onContradiction(note) {
        say("CONTRADICTION: not cosigned, keep it as evidence:");
        for (const line of note.trimEnd().split("\n")) say(`  ${line}`);
      },
    });
    const server = createWitnessServer(witness);
    server.listen(port, host);
    await once(server, "listening");
    const { port: bound } = server.address() as AddressInfo;
    say(`Witness ${name} on http://${host.includes(":") ? `[${host}]` : host}:${bound}`);
    for (const signer of signers) say(`Key: ${verifierText(signer)}`);
    await waitForInterrupt();
    server.close().closeAllConnections();
    witness.close();
    return { isGood: true, lines: [], result: {}, notes: [] };
  },
});

/** The private key in a file of the folder; generated at the first start. */
function keyIn(folder: string, { file, generate }: KeyFile): KeyObject {
  const path = join(folder, file);
  try {
    return createPrivateKey(readFileSync(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const privateKey = generate();
  writeDurably(path, String(privateKey.export({ type: "pkcs8", format: "pem" })));
  return privateKey;
}
