import type { Site } from "../../src/answers/site.ts";
import { paths, skillPath } from "../../src/lib/paths.ts";
import { isAboutAlerts } from "../../src/tool/tool.ts";
import { COMMAND_VARIABLES_NOTE, fencedBlock, shellBlock, toolTable } from "../markdown.ts";
import { registerAgent } from "./register-agent.ts";
import type { Skill } from "./skill.ts";

/** Skill: receive webhooks when a signal changes. */
export const alertWebhooks: Skill = {
  name: "alert-webhooks",
  description: ({ name }) =>
    `Get notified by ${name} when a signal shifts, volatility is unusual, steadiness crosses a level or a price leaves its expected range: register an alert, poll its events, or receive signed webhooks, answer their challenge and verify their signatures. Use it instead of polling the same signal.`,
  body: (site) => `# Alerts and webhooks

Alerts need the scopes \`alerts:write\` and \`signals:read\`, and \`factor:read\` for the contributions in events. An agent gets \`alerts:write\` once a person has claimed it. Before, \`register_alert\` answers \`claim_required\` over MCP and says what to tell the person; for REST see ${site.baseUrl}${skillPath(registerAgent.name)}

${toolTable(isAboutAlerts)}

${COMMAND_VARIABLES_NOTE}

${polling(site)}

${webhooks(site)}

${verification(site)}

${ending(site)}`,
};

const polling = ({ baseUrl }: Site) => `## Poll

${shellBlock(`curl -X POST ${baseUrl}/api/alerts \\
  -H "Authorization: Bearer $ACCESS_TOKEN" \\
  -H "Content-Type: application/json" \\
  -d '{"assetClass": "stock", "kinds": ["signal_shift"]}'`)}

Answer: \`201\` with \`id\`. Instead of \`assetClass\` you can give \`symbols\`.

${shellBlock(`curl "${baseUrl}/api/alerts/events?limit=20" \\
  -H "Authorization: Bearer $ACCESS_TOKEN"`)}

Answer: \`200\`. Send the last \`nextCursor\` as \`cursor\` next time: no event is missed.`;

const webhooks = ({ baseUrl }: Site) => `## Receive

\`$WEBHOOK_URL\` is a public \`https\` URL of yours. Keep \`secret\`: it is shown once.

${shellBlock(`curl -X POST ${baseUrl}/api/alerts \\
  -H "Authorization: Bearer $ACCESS_TOKEN" \\
  -H "Content-Type: application/json" \\
  -d @- <<END
{"assetClass": "crypto", "delivery": {"type": "webhook", "url": "$WEBHOOK_URL"}}
END`)}

Answer: \`201\`. Within seconds the URL gets a signed \`endpoint.verify\`; answer it with 2xx and \`data.challenge\` as the body. Until then events are held.

Answer every event with 2xx, then process it. A failed delivery is retried up to nine times over three days, always with the same \`webhook-id\`: skip an id that you have seen. \`data.sequence\` counts without gaps for each alert and instrument.`;

const verification = ({ baseUrl }: Site) => `## Verify

Deliveries are signed according to Standard Webhooks. Verify the body byte for byte before you parse it, and reject a \`webhook-timestamp\` more than five minutes off. The standardwebhooks libraries do this; in JavaScript without a library:

${fencedBlock("js", VERIFIER)}

Without the secret: signatures \`v1a\` are Ed25519 over the same text, with a key of ${baseUrl}${paths.webhookKeys}`;

/** Sample code for verifying webhooks; a test executes it unchanged. */
const VERIFIER = `import { createHmac, timingSafeEqual } from "node:crypto";

function isGenuine(headers, body, secret) {
  const age = Date.now() / 1000 - Number(headers["webhook-timestamp"]);
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const text = headers["webhook-id"] + "." + headers["webhook-timestamp"] + "." + body;
  const wanted = createHmac("sha256", key).update(text).digest();
  return Math.abs(age) < 300 && headers["webhook-signature"].split(" ").some((signature) => {
    const [version, encoded = ""] = signature.split(",");
    const given = Buffer.from(encoded, "base64");
    return version === "v1" && given.length === wanted.length && timingSafeEqual(given, wanted);
  });
}`;

const ending = ({ baseUrl }: Site) => `## Manage

${shellBlock(`curl "${baseUrl}/api/alerts/$ID" \\
  -H "Authorization: Bearer $ACCESS_TOKEN"`)}

Answer: \`200\` with the health of the webhook. After five days without a success, or a \`410\`, it is disabled until you enable it.

${shellBlock(`curl -X DELETE "${baseUrl}/api/alerts/$ID" \\
  -H "Authorization: Bearer $ACCESS_TOKEN"`)}

Answer: \`200\`.`;
