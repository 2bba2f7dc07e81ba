import type { Topic } from "./entries.ts";

/** Earnings, guidance, dividends and the balance sheet. */
export const results: Topic = [
  [
    3,
    `blowout blow_out blows_past blew_past blockbuster~ crush_estimates crushes_estimates
    crushed_estimates smash_estimates record_profit record_profits record_revenue record_revenues
    record_sales record_earnings record_quarter record_year record_results record_orders
    record_bookings record_demand record_margins knocks_it_out monster_quarter stellar`,
  ],
  [
    2.5,
    `beat beats beating beaten top* exceed* surpass* smash* earnings_beat eps_beat revenue_beat
    double_beat beat_and_raise tops_estimates tops_expectations beats_estimates topped_estimates
    beats_expectations above_consensus above_expectations above_estimates above_forecast
    ahead_of_estimates ahead_of_expectations past_expectations better_than_expected
    better_than_feared better_than_forecast better_than_anticipated stronger_than_expected
    higher_than_expected faster_than_expected more_than_expected positive_surprise
    upside_surprise swings_to_profit swing_to_profit swung_to_profit returns_to_profit
    return_to_profit returns_to_profitability turns_profitable turned_profitable
    raises_guidance raised_guidance raising_guidance raise_guidance raises_outlook raised_outlook
    raises_forecast raised_forecast lifts_outlook lifts_guidance lifts_forecast boosts_outlook
    boosts_guidance boosts_forecast hikes_dividend dividend_hike dividend_increase
    raises_dividend dividend_raise higher_dividend special_dividend buyback~ share_repurchase
    stock_repurchase share_repurchases share_buyback stock_buyback repurchase_program upside_guidance
    guides_above guides_higher guidance_above`,
  ],
  [
    2,
    `growth grow grows grew growing grown expand* expansion~ increase* accelerate* acceleration
    profitability improve* improvement~ raise* upbeat_guidance upbeat_outlook strong_results
    strong_quarter strong_earnings strong_demand strong_sales strong_growth solid_results
    solid_quarter robust_demand robust_growth margin_expansion organic_growth
    double_digit_growth free_cash_flow cash_rich debt_free pays_down_debt deleverag* deleveraging
    repurchase* hike* upsize* oversubscribed reinstates_dividend reinstate* reaffirms_guidance
    accretive swell_profit more_profitable narrowed_loss narrower_loss smaller_loss
    smaller_than_expected narrows_loss high_margin
    first_profit maiden_profit billion_dollar_quarter light_at_the_end revenue_growth
    sales_growth earnings_growth profit_growth profit_rise profit_jump outstrip*`,
  ],
  [
    1.5,
    `profit profitable profits profitably reaffirm* reiterates_guidance
    cost_savings cost_saving efficiency efficiencies synergy synergies
    break_even breaks_even breakeven delever* undervaluation well_capitalized cash_flow_positive
    strong_balance_sheet outperformance replenish* recurring_revenue healthy_margins
    record keeps_guidance keeps_dividend maintains_dividend declares_dividend
    investment_grade payout_increase`,
  ],
  [
    1,
    `in_line inline meets_estimates meet_estimates reiterate* maintains_guidance guides_in
    high_yield dividend_yield dividends dividend backlog orders bookings margins_improve`,
  ],
  [
    0,
    `conference_call earnings_call earnings_calls conference_calls top_line bottom_line tops_out
    track_record on_record for_the_record growth_fund growth_rate growth_stock growth_stocks
    growth_investor growth_equity profit_margin profit_and_loss earnings_report earnings_preview
    growth_conference record_date top_executive top_executives top_stock
    top_stocks top_news top_story top_stories top_holdings top_regulator top_official
    top_officials top_court top_lawyer top_manager top_management record_keeping
    on_top over_the_top raise_money raise_funds raises_funds hit_record high_low beat_up_on`,
  ],
  [
    -1,
    `expense~ cost~ light slow* slower sluggish tepid lukewarm muted modest_growth subdued mixed
    mixed_results narrows_guidance narrows_outlook cautious_outlook cautious_guidance capex_increase
    pressured one_time_charge stretched leverage leveraged highly_leveraged indebted
    debt_load soft softness one_off seasonality`,
  ],
  [
    -1.5,
    `loss losses net_loss loss_making unprofitable deficit~ shortfall~ debt~ impairment
    impairments writeoff~ writedown~ write_down write_downs write_off write_offs write_down
    restate* restatement~ restructure* restructuring charge_off weak weaken* weaker weakest weakness
    weigh_on weighs_on weighed_on weighing_on headwind~ drag drags dragged dragging
    disappoint* disappointment~ disappointing lackluster lacklustre dismal anemic dour
    contract_sharply margin_pressure margin_squeeze margin_compression
    price_pressure cost_pressure overspend* overrun~ cost_overrun cost_overruns
    cash_burn burning_cash burns_cash burn_rate reduce* decrease* shrink shrinks shrank shrinking
    shrunk contraction contracts_in deteriorate* deterioration cut cuts cutting lower_demand
    weak_demand weak_sales weak_results weak_quarter soft_demand soft_guidance no_growth dilute*
    falter* flounder* languish* underwhelm* underwhelming disruption~ disrupt* unsustainable
    not_sustainable glut oversupply bloated`,
  ],
  [
    -2,
    `miss misses missed missing shortfalls below_consensus below_expectations below_estimates
    below_forecast below_forecasts short_of_expectations short_of_estimates falls_short fell_short
    fall_short falling_short worse_than_expected worse_than_feared weaker_than_expected
    lower_than_expected slower_than_expected less_than_expected less_than_forecast
    more_than_feared bigger_than_expected wider_than_expected missed_estimates misses_estimates
    earnings_miss revenue_miss eps_miss double_miss negative_surprise profit_warning
    warns_on cuts_guidance cut_guidance guidance_cut lowers_guidance lowered_guidance
    lower_guidance cuts_outlook cut_outlook lowers_outlook lowered_outlook cuts_forecast
    lowers_forecast cuts_dividend dividend_cut slashes_dividend suspends_dividend dividend_suspended
    scraps_dividend suspending_dividend withdraws_guidance withdrew_guidance withdraws_outlook
    withdraw_guidance pulls_guidance suspends_guidance suspending_guidance suspends_buyback
    downside_guidance light_side guides_below guides_lower guidance_below lowers lowered lowering
    slash* dilution dilutive share_offering secondary_offering stock_offering
    public_offering convertible_debt reverse_split profit_drop profit_fall profit_slump
    profit_plunge sales_drop sales_fall sales_decline revenue_decline revenue_drop
    net_losses wider_loss widening_loss widens_loss bigger_loss larger_loss swings_to_loss
    swing_to_loss swung_to_loss swings_to_net_loss surprise_loss quarterly_loss
    first_loss accounting_error overleveraged over_leveraged lost_revenue lost_sales
    off_by inventory_build inventories_build`,
  ],
  [
    -2.5,
    `record_loss accounting_irregularities accounting_fraud material_weakness going_concern
    credit_crunch debt_trap liquidity_crisis cash_crunch running_out runs_out
    covenant_breach missed_payment missed_payments misses_payment`,
  ],
];
