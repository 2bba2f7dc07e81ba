import type { LexiconTopic } from "./entries.ts";

/** Lexicon entries on central banks, economic data, trade and commodities. */
export const economyTopic: LexiconTopic = [
  [
    2,
    `stimulus rate_cut~ cut/cuts/lower/lowers_rates dovish quantitative_easing soft_landing
    goldilocks trade/peace/phase_deal truce ceasefire tariff/tax/rate_relief tax_cut~
    output/supply/production/opec_cut/cuts deeper_cuts supply_disruption inventory/crude_draw
    boom* full_employment risk_appetite trade/budget_surplus vaccine_hope~/rollout
    flatten*_the_curve`,
  ],
  [
    1.5,
    `thaw* normalize* normalise* bailout aid_package plateaued disinflation prosper* prosperity
    prosperous optimism well_placed worst_is_over/behind turning_point brighter brighten* rosy
    constructive inject_liquidity liquidity_injection`,
  ],
  [
    1,
    `surplus~ stimulate* accommodative calm calmer calms calm/calms_down hopes orderly rate_pause`,
  ],
  [0, `recession_proof on_demand war_chest`],
  [
    -1,
    `inflation hawkish rate_hike~ raise/raises/raising/hike/hikes_rates tighten* taper* slowdown~
    slow*_down cooling unemployment jobless oversupplied crude_build/inventories stockpiles
    trade_gap/deficit impasse deadlock* gridlock standoff stalemate protest* unrest strike~ uneven
    storm~ dims dimmed dimming darker gloomy gloom bleak murky fragile virus`,
  ],
  [
    -2,
    `recession~ recessionary stagflation stagnate* stagnation stagnant depression hyperinflation
    deflation inversion inverted_yield hard_brexit no_deal trade_tensions escalate* escalation
    retaliate* retaliation retaliatory war invade* invasion missile~ attack* coup turmoil chaos
    chaotic upheaval contagion bank_run~ bank_failure~ systemic_risk bubble bubbles burst*
    risk_off roil* rattle* spook* jitter~ jittery shock* shockwave~ worsen* worse worst
    cast/casts_shadow cloud/clouds_over storm_clouds perfect_storm running_low dampen* dash*
    hopes_fade/dim`,
  ],
];
