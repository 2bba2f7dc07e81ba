import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";

const LINES = 50;

/** Number of places that make a report longer than the capacity of a pipe. */
const PLACES = 20_000;

const SCRIPT = `
  import { writeReport } from ${JSON.stringify(new URL("write-report.ts", import.meta.url).href)};
  // Reading process.stdout makes the pipe non-blocking.
  process.stdout.isTTY;
  const contents = Array.from({ length: ${PLACES} }, (_, at) => ["slot/" + at, "x"]);
  process.stderr.write("ready");
  for (let n = 0; n < ${LINES}; n++) writeReport({ is: "contents", contents });
  writeReport({ is: "complete" });
`;

it("a report arrives complete when its reader is slower than its writer", async () => {
  const child = spawn(process.execPath, ["--input-type=module", "-e", SCRIPT], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  // Reading starts only after the writer has begun to fill the pipe.
  await once(child.stderr, "data");
  const lines = (await text(child.stdout)).trimEnd().split("\n");
  expect(lines).toHaveLength(LINES + 1);
  for (const line of lines) JSON.parse(line);
  expect(JSON.parse(lines.at(-1) ?? "")).toEqual({ is: "complete" });
});
