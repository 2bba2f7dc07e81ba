import { it } from "vitest";
import { writeFileSync } from "node:fs";
import { startTown } from "../support/town.ts";
import { authorizationRequest } from "../support/person.ts";
it("x", async () => {
  const { base } = await startTown();
  let o = "";
  for (const h of ["127.0.0.1:1","localhost:444","metadata.google.internal:444", "2130706433:3000"]) {
  const client_id = `https://${h}/client.json`;
  const { url } = authorizationRequest(base, { client_id });
  const t = performance.now();
  const a = await fetch(url, { redirect: "manual" });
  o += `${Math.round(performance.now()-t)} ${a.status} ${await a.text()}\n`;}
  writeFileSync("/tmp/zz.txt", o);
});
