import { faultIn, type StandingsOptions, standingsOf } from "./report.ts";

/** What is missing in a live market. */
export interface Shortcomings {
  /** Whether any provider ever gave something. */
  readonly ok: boolean;
  /** Whether any provider gives what is wanted of it now. */
  readonly isAnswered: boolean;
  /** One clause for each provider that does not give what is wanted of it. */
  readonly detail: string;
}

/** Says which providers do not give what is wanted of them. Strangers may read it: nothing that a
 *  provider has sent is in it. */
export async function shortcomings(options: StandingsOptions): Promise<Shortcomings> {
  const { providers = [] } = (await standingsOf(options)) ?? {};
  const wanted = providers.filter(({ feeds }) => feeds.length > 0);
  const faults = wanted.flatMap((one) => {
    const fault = faultIn(one);
    if (fault !== null) return [`${one.id}: ${fault.kind}`];
    return one.progress.lastSuccessAt === null ? [`${one.id}: no answer yet`] : [];
  });
  const lacks = providers
    .filter(({ missing }) => wanted.length === 0 && missing.length > 0)
    .map(({ id, missing }) => `${id} needs ${missing.join(", ")}`);
  const well = wanted.length - faults.length;
  return {
    ok: wanted.some(({ progress }) => progress.newestAt !== null),
    isAnswered: well > 0,
    detail: [`${well} of ${wanted.length} providers answer`, ...faults, ...lacks].join("; "),
  };
}
