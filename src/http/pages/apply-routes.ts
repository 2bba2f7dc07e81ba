import { type Request, type Response, Router } from "express";
import { z } from "zod";
import { paths } from "../../lib/paths.ts";
import { partyAt } from "../../limits/address-key.ts";
import { requireAdmission } from "../../limits/rate-limit-problem.ts";
import { ApplicationFields } from "../../principals/applications/fields.ts";
import { rejectOtherMethods } from "../allowed-methods.ts";
import { applyPage, queuePlacePage } from "./apply.ts";
import { readForm, submittedValue, validateForm } from "./form.ts";
import { errorSentences } from "./intake-errors.ts";
import type { PageContext } from "./page-context.ts";

/**
 * Schema of the form to apply for early access. A form can send an empty string for an unselected
 * `focus`, which counts as absent.
 */
const ApplyForm = ApplicationFields.extend({
  focus: z.preprocess((chosen) => chosen || undefined, ApplicationFields.shape.focus),
});

/**
 * Routes of the page to apply for early access. They share the rate limits of POST /api/apply;
 * invalid input does not count.
 */
export function earlyAccessRoutes(options: PageContext): Router {
  const { csrf, show } = options;
  const router = Router();
  router
    .route(paths.apply)
    .get(async (req, res) => {
      const { formToken, session } = await csrf.openPage(req, res);
      show(res, applyPage({ formToken, isSignedIn: session !== undefined }));
    })
    .post(...readForm, (req, res) => apply(req, res, options))
    .all(rejectOtherMethods(["get", "post"]));
  return router;
}

async function apply(
  req: Request,
  res: Response,
  { csrf, show, limits, intake }: PageContext,
): Promise<void> {
  const { formToken, session } = await csrf.requireOwnForm(req);
  const isSignedIn = session !== undefined;
  const { data, errors } = validateForm(ApplyForm, req);
  if (errors !== undefined) {
    const asTyped = { name: submittedValue(req, "name"), email: submittedValue(req, "email") };
    const view = { formToken, isSignedIn, ...asTyped, focus: submittedValue(req, "focus") };
    return show(res, applyPage({ ...view, errors: errorSentences(errors) }));
  }
  const { name, email, focus } = data;
  await requireAdmission(limits, "submissions", partyAt(req.ip));
  const seat = await intake.apply({ name, email, focus });
  show(res, queuePlacePage({ isSignedIn, name, email, focus, ...seat }));
}
