import { z } from "zod";
import { InstantAnswer } from "../../answers/shared-members.ts";
import { paths } from "../../lib/paths.ts";
import { ApplicationFields, InquiryFields } from "../../principals/applications/fields.ts";
import { applicantFocuses } from "../../principals/applications/intake-records.ts";
import { LIMIT_HEADERS } from "../headers.ts";
import { jsonContent, jsonResponse, type Operation } from "../operation.ts";
import { PUBLIC_PROBLEMS } from "../problems.ts";

/** Schema of the response to an application for access. */
export const AcceptedApplication = z.object({
  success: z.literal(true),
  message: z.string(),
  data: z.object({
    queueToken: z
      .string()
      .describe(
        "Identifies the place in the queue; shown once. If credential is present, it is also an API key.",
      ),
    name: z.string().describe("The name after normalization."),
    email: z.string().describe("As it was sent."),
    focus: z.enum(applicantFocuses).optional(),
    registeredAt: InstantAnswer.optional().describe("Time of this request."),
    credential: z
      .object({
        type: z.literal("api_key"),
        header: z.literal("x-api-key").describe("Header to send queueToken in."),
        scope: z.string().describe("Its scopes, separated by spaces."),
        expiresAt: InstantAnswer.describe("When it expires as an API key."),
      })
      .optional()
      .describe("How to use queueToken as an API key; present in the sandbox only."),
  }),
});

/** Schema of the response to an inquiry. */
export const RecordedInquiry = z.object({
  success: z.literal(true),
  message: z.string(),
  data: z.object({ reference: z.string(), receivedAt: InstantAnswer }),
});

const common = {
  method: "post",
  tag: "Applications",
  access: "public",
  problems: ["invalid_request", ...PUBLIC_PROBLEMS, "internal_error", "store_unavailable"],
} as const;

/** What a request body must be, in the descriptions of both operations. */
const BODY_RULES =
  "Another content type, a coding or more than 16 kB is a 400 like any other invalid body. Markup and scripts are refused; other text, such as SQL, is kept as data. Unknown members are ignored.";

/** The operation that submits an application for access. */
export const apply = {
  ...common,
  id: "apply",
  limit: { per: "address", name: "submissions" },
  path: "/api/apply",
  summary: "Apply for early access",
  description: `Reserves a place in the queue. The first application of an address is kept. Later ones change nothing, but every answer repeats its own request, so that nobody learns who applied before; every token stands for the one that is kept. ${BODY_RULES}`,
  body: jsonContent(ApplicationFields),
  answers: {
    200: jsonResponse("The place is reserved.", AcceptedApplication, LIMIT_HEADERS),
  },
} as const satisfies Operation;

/** The operation that submits an inquiry. */
export const contact = {
  ...common,
  id: "contact",
  limit: { per: "address", name: "submissions" },
  path: paths.contact,
  summary: "Ask a question",
  description: `Records an inquiry for the operator. ${BODY_RULES}`,
  body: jsonContent(InquiryFields),
  answers: {
    200: jsonResponse("The inquiry was recorded.", RecordedInquiry, LIMIT_HEADERS),
  },
} as const satisfies Operation;

/** Operations for people without an account. */
export const applicationOperations = [apply, contact] as const;
