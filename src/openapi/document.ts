import { SERVICE_SUMMARY, type Site } from "../answers/site.ts";
import { paths } from "../lib/paths.ts";
import { mediaTypes } from "./bodies.ts";
import { componentSchemas, type JsonObject } from "./components.ts";
import { apiDescription } from "./description.ts";
import { recordedDeliveries } from "./exchanges.ts";
import { commonResponses } from "./failures.ts";
import { responseHeaders } from "./headers.ts";
import { operationTags } from "./operation.ts";
import { allOperations } from "./operations/all-operations.ts";
import type { DocumentRoute } from "./operations/documents.ts";
import { parametersIn, pathItems } from "./path-items.ts";
import { securitySchemes } from "./security.ts";
import {
  receiverAnswers,
  type WebhookEventDescription,
  webhookEventDescriptions,
} from "./webhooks.ts";

/** Placeholder for the public origin in the recorded examples. */
const BASE = "{baseUrl}";

/**
 * The OpenAPI 3.1.0 document for the whole HTTP interface.
 *
 * @param documents The discovery documents, which are part of the interface.
 */
export function openApiDocument(site: Site, documents: readonly DocumentRoute[]): JsonObject {
  const operations = allOperations(documents);
  const document = {
    openapi: "3.1.0",
    info: {
      title: site.name,
      version: site.version,
      summary: SERVICE_SUMMARY,
      description: apiDescription(site),
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
    webhooks: Object.fromEntries(
      webhookEventDescriptions.map((webhook) => [webhook.type, webhookItem(webhook)]),
    ),
    components: {
      schemas: componentSchemas(),
      responses: commonResponses(operations),
      headers: responseHeaders,
      securitySchemes: securitySchemes(site),
    },
  };
  return JSON.parse(JSON.stringify(document).replaceAll(BASE, site.baseUrl)) as JsonObject;
}

function webhookItem({
  type,
  summary,
  description: words,
  schema,
  header,
}: WebhookEventDescription): JsonObject {
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
