import { z } from "zod";
import { paths, SKILL_NAMES, skillPath } from "../../lib/paths.ts";
import type { BodyContent, Operation } from "../operation.ts";
import { PUBLIC_PROBLEMS } from "../problems.ts";

const JsonObject = z.looseObject({});
const Text = z.string();

/** Operation id and summary of a document. */
interface DocumentInfo {
  readonly id: string;
  readonly summary: string;
  /** Schema of a JSON document. Default: any JSON object. */
  readonly schema?: z.ZodType;
}

/** Operation id and summary of each document, by path. */
const documentInfo: Readonly<Record<string, DocumentInfo>> = {
  [paths.protectedResource]: {
    id: "get_protected_resource",
    summary: "Metadata of the REST interface as a protected resource (RFC 9728)",
  },
  [paths.mcpProtectedResource]: {
    id: "get_mcp_protected_resource",
    summary: "Metadata of the MCP endpoint as a protected resource (RFC 9728)",
  },
  [paths.authorizationServer]: {
    id: "get_authorization_server",
    summary: "Metadata of the authorization server (RFC 8414)",
  },
  [paths.openidConfiguration]: {
    id: "get_openid_configuration",
    summary: "The same metadata (OpenID Connect Discovery 1.0)",
  },
  [paths.jwks]: { id: "get_jwks", summary: "Public keys of ID tokens (RFC 7517)" },
  [paths.serverCard]: { id: "get_server_card", summary: "Card of the MCP server (SEP-1649)" },
  [paths.mcpServerCard]: {
    id: "get_mcp_server_card",
    summary: "Card of the MCP server (SEP-2127)",
  },
  [paths.aiCatalog]: { id: "get_ai_catalog", summary: "AI catalog" },
  [paths.apiCatalog]: { id: "get_api_catalog", summary: "API catalog (RFC 9727)" },
  [paths.skillsIndex]: {
    id: "get_agent_skills",
    summary: "Index of agent skills (Agent Skills Discovery 0.2.0)",
  },
  [paths.authMd]: { id: "get_auth_md", summary: "How agents get access, as text" },
  [paths.llms]: { id: "get_llms_txt", summary: "Summary of the service for language models" },
  [paths.icon]: { id: "get_icon", summary: "The icon of the service (SVG)" },
  [paths.robots]: { id: "get_robots_txt", summary: "Rules for crawlers (RFC 9309)" },
  [paths.sitemap]: { id: "get_sitemap", summary: "The public pages" },
  [paths.securityTxt]: {
    id: "get_security_txt",
    summary: "Contact for security reports (RFC 9116)",
  },
  [paths.openbbWidgets]: {
    id: "get_openbb_widgets",
    summary: "The widgets of OpenBB Workspace (widgets.json)",
  },
  [paths.openbbApps]: {
    id: "get_openbb_apps",
    summary: "A dashboard of OpenBB Workspace (apps.json)",
    schema: z.array(JsonObject),
  },
  [paths.openapi]: { id: "get_openapi", summary: "This description (OpenAPI 3.1)" },
  [paths.reference]: {
    id: "get_reference",
    summary: "This description for people, or its summary as Markdown",
  },
  [`${paths.reference}.md`]: {
    id: "get_reference_in_short",
    summary: "Summary of this description, as Markdown",
  },
  ...Object.fromEntries(
    SKILL_NAMES.map((name) => [
      skillPath(name),
      { id: `get_skill_${name.replaceAll("-", "_")}`, summary: `The skill ${name}` },
    ]),
  ),
};

/** Path and media types of a document. */
export interface DocumentRoute {
  readonly path: string;
  readonly mediaTypes: readonly string[];
}

/** Documents that the authorization server serves. */
export const authorizationServerDocuments: readonly DocumentRoute[] = [
  { path: paths.authorizationServer, mediaTypes: ["application/json"] },
  { path: paths.openidConfiguration, mediaTypes: ["application/json"] },
  { path: paths.jwks, mediaTypes: ["application/jwk-set+json"] },
];

/** The API reference. Its HTML page does not allow other origins, because people sign in on it. */
const reference: readonly DocumentRoute[] = [
  { path: paths.reference, mediaTypes: ["text/html", "text/markdown"] },
  { path: `${paths.reference}.md`, mediaTypes: ["text/markdown"] },
];

/** Responses in addition to 200 and 304, by path of the document. */
const extraResponses: Readonly<Record<string, Operation["answers"]>> = {
  [paths.reference]: {
    303: {
      description: "Redirect to the public origin, for a browser that used another one.",
      headers: ["Location"],
    },
  },
};

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

function operationOf({ path, mediaTypes }: DocumentRoute): Operation {
  const { id, summary, schema = JsonObject } = infoOf(path);
  const content = mediaTypes.map((mediaType) => contentOf(mediaType, schema));
  return {
    id,
    summary,
    method: "get",
    path,
    tag: "Discovery",
    security: [],
    answers: {
      200: { description: "The document.", content, headers: ["ETag"] },
      304: { description: "Not modified.", headers: ["ETag"] },
      ...extraResponses[path],
    },
    problems: PUBLIC_PROBLEMS,
  };
}

/**
 * Finds the operation id and summary of a document.
 * @throws {Error} If `documentInfo` has no entry for a served document.
 */
function infoOf(path: string): DocumentInfo {
  const about = documentInfo[path];
  if (about === undefined) throw new Error(`The document ${path} has no operation.`);
  return about;
}

/**
 * Describes the content with a media type. The parameters of the media type are omitted, since they
 * do not matter to clients.
 * @param json Schema of the document if it is JSON.
 */
function contentOf(mediaType: string, json: z.ZodType): BodyContent {
  const [name = mediaType] = mediaType.split(";");
  const isJson = /[/+]json$/.test(name);
  return { mediaType: name, schema: isJson ? json : Text };
}
