import type { LexiconTopic } from "./entries.ts";

/** Lexicon entries on price moves and chart patterns. */
export const marketMoveTopic: LexiconTopic = [
  [
    3,
    `soar* skyrocket* rocket* moonshot~ parabolic record_high/close/run fresh/new_record~
    all_time_high~ short/gamma_squeeze~ limit_up go/goes/going_vertical record_territory`,
  ],
  [
    2.5,
    `surge* rally* jump* spike* leap* zoom* explode* rip* roar* breakout~ break*_out bullish
    uptrend~ upswing~ uptick~ outperform* outpace* outshine* multibagger~
    new/fresh/month/week/year/day/session/intraday_high new/fresh_highs golden_cross
    bull_market~/run~ bear_trap~ best/strongest_day/week/month/quarter/year take*_flight ath`,
  ],
  [
    2,
    `gain* gainer~ advance* climb* rise* rebound* recover* recovery recoveries bounce* lift* boost*
    buoy* propel* propelled double* triple* quadruple* pop* perk* higher up upside upward~ highs
    turnaround~ comeback~ reversal bottomed bottoming bottom_is_in take*_off on_top red_to_green
    pare/pares/pared/paring_losses erase/erases/erased_losses reverse/reverses/reversed_losses
    recoup* reclaim* retake* regain* back_above break/breaks/broke/breaking_above
    cross/crosses/crossed_above above_resistance break/breaks/broke_resistance
    hold/holds/held/holding_support winning_streak bull_flag double_bottom green_day~
    green_candle~ oversold undervalued risk_on in_the_green`,
  ],
  [
    1.5,
    `upbeat momentum accumulation inflow~ resurgence resurgent revive* revival leg_up
    buying_pressure/interest relative_strength heavy/unusual_volume in_favor bright_spot~`,
  ],
  [
    1,
    `steady* steadier stabilize* stabilise* stable supportive resilient resilience buoyant green
    support_level`,
  ],
  [
    0,
    `up/down_to/for/or/and set/sign/wake/line/make/made/look/show/come/end_up
    looks/shows/comes/ends/lines/showed/coming/ended_up up_next down_the_road down_under
    this/last_fall long/short/near_term long_time/way/run/day/weekend/story so/how/as_long
    in_short short_run/interest/list`,
  ],
  [
    -1,
    `volatile volatility choppy turbulent turbulence sideways range_bound rangebound flat stall*
    pause* fizzle* lag* laggard~ overbought resistance uncertain pullback~ pull*_back retreat*
    give*_back profit_taking take/takes/taking_profits going_nowhere underwater ease* softer
    soften* dead_money no/low_volume`,
  ],
  [
    -2,
    `lowest decline* fall* drop* dip* slide* slip* sag* sink* stumble* tumble* slump* shed* erode*
    erosion retrench* down downside downtrend~ downturn~ downward~ lower_highs/lows loser~ lose*
    underperform* break*_down/below breakdown~ below_support
    lose/loses/lost/losing_support/ground/steam reject* rejection roll*_over bull_trap~ bear_flag
    double/triple_top head_and_shoulders fade* in_the_red red green_to_red sell*_off selloff~
    outflow~ wobble* wane* drift* evaporate* out_of_favor losing_streak snap/snaps_streak
    pare/pares/pared_gains trim/trims/trimmed_gains erase/erases/erased_gains
    limit/limits/limiting/cap/caps_gains off_highs
    new/fresh/month/week/year/day/session/intraday_low new/fresh_lows all_time_low~ record_low~
    worst_day/week/month/quarter/year/performer toppy topping topped_out overextended`,
  ],
  [
    -2.5,
    `plunge* plummet* crash* collapse* crater* nosedive* tank* crumble* implode* meltdown~ freefall
    free_fall bloodbath~ bleed* bearish death_cross bear_market~ dead_cat rout~ routed carnage
    wiped wipe/wipes/wiping_out wipeout~ pummel* hammered hammering pound* clobber* batter*
    slaughter* obliterate* decimate* halved halves capitulation capitulate* rock_bottom
    falling_knife head/heads/heading_south limit_down melt*_down tailspin thrash* hard_landing
    take/takes/took_a_dive flash_crash`,
  ],
];
