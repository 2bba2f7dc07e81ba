import type { Topic } from "./entries.ts";

/** Central banks, data, trade and raw materials. */
export const economy: Topic = [
  [
    2,
    `stimulus rate_cut rate_cuts cuts_rates cut_rates lowers_rates dovish quantitative_easing
    soft_landing goldilocks trade_deal trade_agreement phase_one_deal trade_truce ceasefire
    truce peace_deal tariff_relief tariff_cut tariff_cuts tax_cut tax_cuts tax_relief
    strong_jobs jobs_growth job_growth job_gains record_exports output_cut output_cuts supply_cut
    supply_cuts opec_cuts opec_cut deeper_cuts production_cuts supply_disruption
    draw_in_inventories inventory_draw crude_draw larger_than_expected_draw boom* booming
    full_employment strong_economy economic_recovery v_shaped gdp_growth risk_appetite
    trade_surplus budget_surplus pent_up_demand vaccine_hopes vaccine_hope vaccine_rollout
    flattening_the_curve consumer_confidence_rises fewer_claims rate_relief`,
  ],
  [
    1.5,
    `ease_tensions easing_tensions thaw* normalize* normalise* normalizing bailout rescue_package
    relief_package aid_package extra_payments adds_payrolls payrolls_beat plateaued cools_inflation
    cooling_inflation inflation_cools inflation_eases disinflation safe_haven_demand
    haven_demand strong_dollar plentiful prosper* prosperity prosperous optimism hope_for_deal
    well_placed unlikely_recession worst_is_over worst_behind worst_is_behind worst_may_be
    turning_point bright_future brighter brighten* green_shoots rosy constructive
    steady_growth liquidity_injection inject_liquidity low_unemployment`,
  ],
  [
    1,
    `surplus~ stimulate* accommodative rate_pause consensus_reached hope_for calmer calm calms
    calm_down calms_down hopes demand orderly`,
  ],
  [
    0,
    `economic_growth_rate growth_concerns climate_change boom_or_bust inflation_report
    recession_proof jobs_report stress_index demand_letter demand_answers on_demand demands
    depression_drug deficit_hawk war_chest crude_oil`,
  ],
  [
    -1,
    `inflation hawkish rate_hike rate_hikes hikes_rates raise_rates raises_rates raising_rates
    tighten* tightening taper* tapering slowdown~ slow_down slows_down slowing_down
    slowed_down cooling headwinds_mount unemployment jobless jobless_claims unemployment_claims
    glut_of oversupplied crude_build crude_inventories supply_glut stockpiles trade_gap trade_deficit
    budget_deficit impasse deadlock* gridlock standoff stalemate protest* unrest
    strike~ uneven storm~ dim dims dimmed dimming darker gloomy gloom bleak murky fragile
    growth_concerns_weigh geopolitical_tensions fewer virus coronavirus_spread cases_rise`,
  ],
  [
    -2,
    `recession~ recessionary stagflation stagnate* stagnation stagnant depression economic_downturn
    hyperinflation deflation credit_downgrade debt_crisis debt_ceiling yield_curve_inverts
    inverted_yield inverted_yield_curve inversion hard_brexit no_deal trade_tensions trade_threat
    escalate* escalation retaliate* retaliation retaliatory war invade* invasion missile~ attack*
    airstrike~ coup turmoil chaos chaotic upheaval contagion panic_selling bank_run bank_runs
    bank_failure bank_failures systemic_risk rising_unemployment mass_layoffs food_shortage
    energy_crisis housing_bust housing_crash bubble_bursts burst* risk_off roil* rattle* spook*
    jitter~ jittery shock* shockwave~ worsen* worsening worse worst rips_through deepening_crisis
    cast_shadow casts_shadow cloud_over clouds_over storm_clouds perfect_storm
    ripple_through running_low limits_growth dampen* subdue* dash* dashed dashed_hopes
    hopes_fade hopes_dim dims_hopes out_of_options out_of_room running_out_of few_options`,
  ],
];
