import type { LexiconTopic } from "./entries.ts";

/** Lexicon entries on earnings, guidance, dividends and the balance sheet. */
export const resultTopic: LexiconTopic = [
  [
    3,
    `blowout blow/blows/blew_past/away blockbuster~ stellar crush/crushes/crushed_estimates
    record_profit~/revenue~/sales/earnings/quarter/year/results/margins/orders/demand`,
  ],
  [
    2.5,
    `beat* tops topped exceed* surpass* smash*
    above/past_expectations/estimates/consensus/forecasts
    ahead_of_expectations/estimates/forecasts/consensus
    better/stronger/higher/faster_than_expected/feared/forecast/anticipated
    positive/upside_surprise swing*_to_profit return*_to_profit turn/turns/turned_profitable
    buyback~ special_dividend guide/guides/guided/guidance_above`,
  ],
  [
    2,
    `growth grow* expand* expansion~ increase* accelerate* acceleration profitability improve*
    improvement~ raise* hike* free_cash_flow cash_rich debt_free oversubscribed upsized
    repurchase* reinstate* accretive smaller/narrower_than_expected first_profit outstrip*`,
  ],
  [
    1.5,
    `profit profits profitable profitably reaffirm* cost_saving~ efficiency efficiencies synergy
    synergies break_even breakeven undervaluation well_capitalized recurring_revenue
    outperformance record keep/keeps/maintain/maintains_guidance/outlook/dividend investment_grade
    high_margin/margins`,
  ],
  [1, `in_line inline meet/meets/met_estimates/expectations reiterate* backlog bookings`],
  [
    0,
    `conference/earnings_call~ top/bottom_line track_record on_record settlement_price~
    raise/raises/raising_money/funds/capital/questions more_than`,
  ],
  [
    -1,
    `cost~ expense~ light slow* slower sluggish tepid lukewarm muted subdued mixed modest_growth
    narrow/narrows_guidance/outlook cautious_guidance/outlook stretched leveraged indebted
    debt_load soft softness`,
  ],
  [
    -1.5,
    `loss losses deficit~ shortfall~ debt~ impairment~ writeoff~ writedown~ write_down~/off~
    unprofitable restatement~ restructure* weak weaken* weaker weakest weakness
    weigh/weighs/weighed/weighing_on headwind~ drag drags dragged dragging disappoint*
    disappointment~ lackluster lacklustre dismal anemic margin_squeeze/compression/pressure
    overrun~ cash_burn burn/burns/burning_cash reduce* decrease* shrink* contraction contracts_in
    deteriorate* deterioration cut* weak/soft/lower_demand falter* flounder* languish* underwhelm*
    disruption~ disrupt* unsustainable not_sustainable glut oversupply bloated dilute*`,
  ],
  [
    -2,
    `miss misses missed below_expectations/estimates/consensus/forecast/forecasts
    fall/falls/fell/falling_short short_of_expectations/estimates
    worse/weaker/lower/slower_than_expected/feared/forecast
    bigger/wider/larger_than_expected/feared negative_surprise profit_warning~ lower*
    warn/warns/warned_on/of/about withdraw/withdraws/withdrew_guidance/outlook/forecast
    pull/pulls/pulled_guidance/outlook
    suspend/suspends/suspending/suspended_guidance/dividend/buyback dividend_suspended/cut
    cut/cuts/slash/slashes/scrap/scraps/scrapped_dividend/dividends
    guide/guides/guided/guidance_below slash* dilution dilutive reverse_split
    profit_drop/fall/slump/plunge net/quarterly/surprise/wider_loss overleveraged
    inventory/inventories/stockpiles_build`,
  ],
  [-3, "less_than_expected/feared/forecast"],
  [
    -2.5,
    `record_loss going_concern credit/cash/liquidity_crunch/crisis run/runs/ran/running_out
    covenant_breach miss/misses/missed_payment/payments`,
  ],
];
