import { z } from "zod";
import { paths } from "../../lib/paths.ts";
import type { BodyContent, Operation } from "../operation.ts";
import { PUBLIC_PROBLEMS } from "../problems.ts";

const JsonObject = z.looseObject({});
const Text = z.string();

/** A document at a fixed path, which anyone can read with GET. */
export interface DocumentRoute {
  /** Operation id. */
  readonly id: string;
  readonly path: string;
  readonly summary: string;
  /** Media types of the document; the first is sent unless the client prefers another. */
  readonly mediaTypes: readonly [string, ...string[]];
  /** Schema of a JSON document. Default: any JSON object. */
  readonly schema?: z.ZodType;
  /** Responses in addition to 200 and 304. */
  readonly otherAnswers?: Operation["answers"];
}

/** Documents that the authorization server serves. */
export const authorizationServerDocuments: readonly DocumentRoute[] = [
  {
    id: "get_authorization_server",
    path: paths.authorizationServer,
    summary: "Metadata of the authorization server (RFC 8414)",
    mediaTypes: ["application/json"],
  },
  {
    id: "get_openid_configuration",
    path: paths.openidConfiguration,
    summary: "The same metadata (OpenID Connect Discovery 1.0)",
    mediaTypes: ["application/json"],
  },
  {
    id: "get_jwks",
    path: paths.jwks,
    summary: "Public keys of ID tokens (RFC 7517)",
    mediaTypes: ["application/jwk-set+json"],
  },
];

/** The API reference. Its HTML page does not allow other origins, because people sign in on it. */
const reference: readonly DocumentRoute[] = [
  {
    id: "get_reference",
    path: paths.reference,
    summary: "This description for people, or its summary as Markdown",
    mediaTypes: ["text/html", "text/markdown"],
    otherAnswers: {
      303: {
        description: "Redirect to the public origin, for a browser that used another one.",
        headers: ["Location"],
      },
    },
  },
  {
    id: "get_reference_in_short",
    path: `${paths.reference}.md`,
    summary: "Summary of this description, as Markdown",
    mediaTypes: ["text/markdown"],
  },
];

/**
 * The operations that return documents.
 *
 * @param documents The discovery documents.
 */
export function documentOperations(documents: readonly DocumentRoute[]): readonly Operation[] {
  const open = [...documents, ...authorizationServerDocuments];
  return [
    ...open.map((document): Operation => ({ ...operationOf(document), allowsAnyOrigin: true })),
    ...reference.map(operationOf),
  ];
}

function operationOf(document: DocumentRoute): Operation {
  const { id, summary, path, mediaTypes, schema = JsonObject, otherAnswers } = document;
  const content = mediaTypes.map((mediaType) => contentOf(mediaType, schema));
  return {
    id,
    summary,
    method: "get",
    path,
    tag: "Discovery",
    access: "public",
    answers: {
      200: { description: "The document.", content, headers: ["ETag"] },
      304: { description: "Not modified.", headers: ["ETag"] },
      ...otherAnswers,
    },
    problems: PUBLIC_PROBLEMS,
  };
}

/**
 * Describes the content with a media type. The parameters of the media type are omitted, since they
 * do not matter to clients.
 *
 * @param json Schema of the document if it is JSON.
 */
function contentOf(mediaType: string, json: z.ZodType): BodyContent {
  const [name = mediaType] = mediaType.split(";");
  const isJson = /[/+]json$/.test(name);
  return { mediaType: name, schema: isJson ? json : Text };
}
