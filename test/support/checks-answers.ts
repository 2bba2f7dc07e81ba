import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { Scope } from "../../src/access/scopes.ts";

/** A response of an operation in the OpenAPI document. */
interface DescribedAnswer {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, object>>;
}

/** An operation in the OpenAPI document. */
interface Operation {
  readonly operationId: string;
  readonly security: readonly { readonly oauth2?: readonly Scope[] }[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, DescribedAnswer>>;
}

/** The parts of an OpenAPI document that the checks use. */
export interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly responses: Readonly<Record<string, DescribedAnswer>> };
}

/** An operation with its method and path. */
export interface Described {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/** All operations of the document. */
export const describedIn = ({ paths }: Description): readonly Described[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation,
    })),
  );

/**
 * A comparison of answers with the OpenAPI document, which also records which responses occurred.
 */
export interface Witness {
  /** Checks an answer without consuming its body. */
  saw(one: Described, response: Response): Promise<void>;
  /** Records that a response occurred and was checked elsewhere. */
  knows(operationId: string, status: number): void;
  /** Differences between answers and the document. */
  readonly faults: () => readonly string[];
  /** Responses in the document that did not occur, as `operation status`. */
  readonly unseen: () => readonly string[];
}

/** Creates a witness for an OpenAPI document. */
export function createAnswerChecker(document: Description): Witness {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addFormat("base64url", /^[\w-]*$/);
  ajv.addSchema({ $id: "described", ...document });
  const seen = new Set<string>();
  const faults = new Set<string>();

  /** The described response, and its JSON pointer in the document. */
  function saidOf({ method, path, operation }: Described, status: number) {
    const answer = operation.responses[status];
    const { $ref } = answer ?? {};
    if ($ref === undefined) {
      return { answer, at: pointer("paths", path, method.toLowerCase(), "responses", `${status}`) };
    }
    const name = $ref.split("/").at(-1) ?? "";
    const common = document.components.responses[name];
    return { answer: common, at: pointer("components", "responses", name) };
  }

  async function faultOf(one: Described, response: Response): Promise<string | undefined> {
    const { answer, at } = saidOf(one, response.status);
    if (answer === undefined) return "is not described";
    const type = typeOf(response);
    const types = Object.keys(answer.content ?? { "": "no body" });
    if (!types.includes(type)) return `is described as ${types}, not ${type}`;
    if (!/\bjson$/.test(type)) return undefined;
    const validate = ajv.compile({ $ref: `described#${at}${pointer("content", type)}/schema` });
    return validate(await response.clone().json()) ? undefined : ajv.errorsText(validate.errors);
  }

  return {
    async saw(one, response) {
      const name = `${one.operation.operationId} ${response.status}`;
      seen.add(name);
      const fault = await faultOf(one, response);
      if (fault !== undefined) faults.add(`${name}: ${fault}`);
    },
    knows: (operationId, status) => void seen.add(`${operationId} ${status}`),
    faults: () => [...faults],
    unseen: () =>
      describedIn(document)
        .flatMap(({ operation: { operationId, responses } }) =>
          Object.keys(responses).map((status) => `${operationId} ${status}`),
        )
        .filter((name) => !seen.has(name)),
  };
}

/** Media type of a response, without parameters; empty if the response has no Content-Type. */
const typeOf = ({ headers }: Response): string =>
  (headers.get("content-type") ?? "").split(";")[0] ?? "";

/** A JSON pointer (RFC 6901) in the form of a URI fragment. */
const pointer = (...steps: readonly string[]): string =>
  steps
    .map((step) => `/${encodeURIComponent(step.replace(/~/g, "~0").replace(/\//g, "~1"))}`)
    .join("");
