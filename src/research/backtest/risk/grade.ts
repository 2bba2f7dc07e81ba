import { RISK_TABLE, RISK_TABLE_FITTED_BEFORE } from "../../../risk/measured-table.ts";
import { type BacktestQuestion, sessionsPerGradedDate } from "../question.ts";
import { measureRisk, type RiskMeasures } from "./measures.ts";
import { observeRisk, type RiskGrid } from "./observations.ts";

/** Grades the service's risk forecasts for a class; empty if no outcome is known. */
export function gradeRisk(
  risk: RiskGrid,
  { pace, seed }: Pick<BacktestQuestion, "pace" | "seed">,
): readonly RiskMeasures[] {
  const { assetClass } = risk.grid;
  return RISK_TABLE.classes[assetClass].flatMap((table) => {
    const { horizon, model, fallPercent, quantiles, reportDays } = table;
    const observations = observeRisk(risk, table);
    if (observations.length === 0) return [];
    const overlap = { horizon, step: sessionsPerGradedDate(pace, assetClass) };
    const fittedBefore = RISK_TABLE_FITTED_BEFORE;
    const question = {
      horizon,
      model,
      fallPercent,
      quantiles,
      reportDays,
      fittedBefore,
      overlap,
      seed,
    };
    return [measureRisk(observations, question)];
  });
}
