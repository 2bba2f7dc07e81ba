import { z } from "zod";
import { addDays } from "../../publication-times.ts";

/**
 * XBRL tags that filers use for a figure, in order of preference. Values of different tags are
 * never combined.
 */
export const XBRL_TAGS = {
  netIncome: ["NetIncomeLoss", "ProfitLoss", "NetIncomeLossAvailableToCommonStockholdersBasic"],
  operatingCashFlow: [
    "NetCashProvidedByUsedInOperatingActivities",
    "NetCashProvidedByUsedInOperatingActivitiesContinuingOperations",
  ],
  capitalExpenditure: [
    "PaymentsToAcquirePropertyPlantAndEquipment",
    "PaymentsToAcquireProductiveAssets",
  ],
  operatingIncome: ["OperatingIncomeLoss"],
  depreciation: [
    "DepreciationDepletionAndAmortization",
    "DepreciationAmortizationAndAccretionNet",
    "DepreciationAndAmortization",
  ],
  equity: [
    "StockholdersEquity",
    "StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest",
  ],
  assets: ["Assets"],
  cash: [
    "CashAndCashEquivalentsAtCarryingValue",
    "CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents",
  ],
  allDebt: ["DebtLongtermAndShorttermCombinedAmount"],
  longTermDebt: ["LongTermDebt"],
  laterDebt: ["LongTermDebtNoncurrent"],
  currentDebt: ["LongTermDebtCurrent"],
  shortTermDebt: ["ShortTermBorrowings", "CommercialPaper"],
  sharesOnCover: ["EntityCommonStockSharesOutstanding"],
  sharesOutstanding: ["CommonStockSharesOutstanding"],
  sharesDiluted: ["WeightedAverageNumberOfDilutedSharesOutstanding"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/**
 * Annual and quarterly reports, and their amendments. Proxy statements are excluded, since they
 * only repeat figures.
 */
const REPORTS = /^(?:10-[KQ]T?|20-F|40-F)(?:\/A)?$/;

/**
 * Maximum number of days from the end of a period to its report. Later filings repeat the figures
 * only for comparison.
 */
export const MAX_FILING_LAG_DAYS = 180;

const FactRow = z.object({
  /** First day of the period; absent for a balance, which applies to an instant. */
  start: z.iso.date().optional(),
  end: z.iso.date(),
  val: z.number(),
  accn: z.string().min(1).max(40),
  form: z.string().nullish(),
  filed: z.iso.date(),
});

const Rows = z.array(FactRow).optional();
const Concept = z.object({ units: z.object({ USD: Rows, shares: Rows }) }).optional();

/** Schema of the tags that are read; filers use thousands of others. */
const Taxonomy = z
  .object(
    Object.fromEntries(
      Object.values(XBRL_TAGS).flatMap((tags) => tags.map((tag) => [tag, Concept])),
    ),
  )
  .optional();

/** All figures of a company, as filed by the company. */
export const CompanyFacts = z.looseObject({
  cik: z.coerce.number(),
  facts: z.looseObject({ dei: Taxonomy, "us-gaap": Taxonomy }),
});

/** One figure of one filing. */
export interface Fact {
  readonly tag: string;
  /** First day of the period, an ISO date; `undefined` for a balance at an instant. */
  readonly start: string | undefined;
  /** Last day of the period, an ISO date. */
  readonly end: string;
  /** Value in USD, or a number of shares. */
  readonly value: number;
  /** Accession number of the filing. */
  readonly accn: string;
  /** ISO date of the filing. */
  readonly filed: string;
}

/** Facts of one filing. */
export interface Filing {
  readonly accn: string;
  /** ISO date of the filing. */
  readonly filed: string;
  readonly facts: readonly Fact[];
}

/** The reports of a company, oldest first, each with the figures of its own periods. */
export function filingsOf({ facts }: z.infer<typeof CompanyFacts>): readonly Filing[] {
  const all = [facts.dei, facts["us-gaap"]].flatMap((taxonomy) =>
    Object.entries(taxonomy ?? {}).flatMap(([tag, concept]) => factsOf(tag, concept)),
  );
  const filings = [...Map.groupBy(all, ({ accn, filed }) => `${filed} ${accn}`)];
  return filings
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, [first, ...rest]]) => {
      const { accn, filed } = first as Fact;
      return { accn, filed, facts: [first as Fact, ...rest] };
    });
}

function factsOf(tag: string, concept: z.infer<typeof Concept>): Fact[] {
  const { USD = [], shares = [] } = concept?.units ?? {};
  return [...USD, ...shares]
    .filter(({ form, end, filed }) => {
      const isTimely = end <= filed && filed <= addDays(end, MAX_FILING_LAG_DAYS);
      return isTimely && REPORTS.test(form ?? "");
    })
    .map(({ start, end, val, accn, filed }) => ({ tag, start, end, value: val, accn, filed }));
}
