import { paths } from "../../wellknown/paths.ts";
import { type Site, SUMMARY } from "../../wellknown/site.ts";
import { mediaTypes } from "./bodies.ts";
import { type Json, schemas } from "./components.ts";
import { description } from "./description.ts";
import { recordedDeliveries } from "./exchanges.ts";
import { commonResponses } from "./failures.ts";
import { headers } from "./headers.ts";
import { operationTags } from "./operation.ts";
import { allOperations } from "./operations/all-operations.ts";
import type { DocumentRoute } from "./operations/documents.ts";
import { parametersIn, pathItems } from "./path-items.ts";
import { securitySchemes } from "./security.ts";
import { receiverAnswers, type Webhook, webhooks } from "./webhooks.ts";

/** Placeholder for the public origin in examples. */
const BASE = "{baseUrl}";

/**
 * The OpenAPI document (3.1.0) of the whole HTTP interface.
 *
 * @param documents The discovery documents, which are part of the interface.
 */
export function openApi(site: Site, documents: readonly DocumentRoute[]): Json {
  const operations = allOperations(documents);
  const document = {
    openapi: "3.1.0",
    info: {
      title: site.name,
      version: site.version,
      summary: SUMMARY,
      description: description(site),
      contact: { name: site.name, url: site.baseUrl + paths.home },
      license: { name: "Apache License 2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: site.baseUrl, description: `The ${site.market} market` }],
    externalDocs: {
      url: site.baseUrl + paths.llms,
      description: "Summary of the service, with links to everything else",
    },
    tags: Object.entries(operationTags).map(([name, about]) => ({ name, description: about })),
    paths: pathItems(operations),
    webhooks: Object.fromEntries(webhooks.map((webhook) => [webhook.type, webhookItem(webhook)])),
    components: {
      schemas: schemas(),
      responses: commonResponses(operations),
      headers,
      securitySchemes: securitySchemes(site),
    },
  };
  return JSON.parse(JSON.stringify(document).replaceAll(BASE, site.baseUrl)) as Json;
}

function webhookItem({ type, summary, description: words, schema, header }: Webhook): Json {
  const value = recordedDeliveries[type];
  const examples = value === undefined ? [] : [{ name: "sent", summary, value }];
  return {
    post: {
      operationId: type.replace(".", "_"),
      tags: ["Alerts"],
      summary,
      description: words,
      security: [],
      parameters: parametersIn("header", header),
      requestBody: {
        required: true,
        content: mediaTypes([{ mediaType: "application/json", schema }], {
          io: "output",
          examples,
        }),
      },
      responses: receiverAnswers,
    },
  };
}
