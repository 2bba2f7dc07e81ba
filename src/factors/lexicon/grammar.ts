/**
 * What a word does to the verdicts around it. `rise` and `fall`: a quantity goes up or down (what
 * ends counts as down); `burden`: less of it is good news; `rival`: who bets on falling prices;
 * `negation`: turns what follows; `concession`: what follows counts for little ("despite ...");
 * `origin`: what follows is left behind ("slips from record highs").
 */
export type Role =
  | "rise"
  | "fall"
  | "burden"
  | "rival"
  | "negation"
  | "concession"
  | "origin"
  | "link";

/** Words by role, written like a {@link Topic}. */
export const roles: readonly (readonly [Role, string])[] = [
  [
    "rise",
    `up rise rises rose rising risen increase* grow grows grew growing widen* climb* jump* soar*
    surge* swell* higher mount* spike* double* triple* deepen* intensify* linger* persist* loom*
    raise* hike* balloon* build builds building built accelerate* escalate* worsen* more bigger
    larger heavier pile_up piles_up`,
  ],
  [
    "fall",
    `down fall falls fell falling fallen drop* decline* decrease* narrow* narrower shrink shrinks
    shrank shrinking shrunk reduce* cut cuts cutting ease* slow* lower lowers lowered lowering trim*
    fade* fades fading halve* slash* less fewer smaller low recede* subside* abate* cool* dissipate*
    alleviate* allay* calm* end ends ended ending avoid* avert* dodge* escape* settle* settlement
    resolve* dismiss* scrap* remove* waive* suspend* suspends delay* postpone* cancel* canceled
    eliminate* weather* overcome overcomes overcame offset offsets contain* curb* repay* repaid
    quash* overturn* defuse* rein_in reins_in slump* plunge* tumble* dip* slip* sink sinks sank
    retreat* shed sheds diminish* mitigate* plateau* plateaued wane* soothe* quell*`,
  ],
  [
    "burden",
    `loss losses net_loss net_losses quarterly_loss debt~ cost~ expense~ unemployment jobless
    jobless_claims unemployment_claims inflation deficit~ budget_deficit trade_deficit claims risk~
    default~ bankruptcies outflow~ layoff~ job_cuts inventory inventories stockpiles crude_inventories
    tariff~ fear~ tension~ trade_tensions concern~ worry worries uncertainty uncertainties
    lawsuit~ suit probe~ investigation~ charges litigation class_action dispute~ sanction~ sanctions
    ban bans restriction~ lockdown~ crisis recession recession~ threat~ headwind~ shortage~
    shortages cases infections deaths churn complaint~ cancellation~ delinquencies stress taxes fees
    volatility vix pressure pressures writedown~ penalty penalties strike~ war trade_war slump
    downturn~ selloff~ slowdown~ outbreak~ pandemic virus impairments dilution jitter~ pessimism doubt~
    rig_count crude_supply oil_supply`,
  ],
  ["rival", "shorts bears short_sellers shorties bear"],
  [
    "negation",
    `never no not none neither nor cannot cant wont dont isnt wasnt arent werent didnt doesnt hasnt
    havent hadnt wouldnt shouldnt couldnt aint without hardly barely stop no_longer fails_to fail_to
    failed_to failing_to unable_to far_from lack_of rather_than instead_of nothing no_sign_of less
    anything_but not_very not_so not_as not_that nobody unlikely_to refuses_to refused_to`,
  ],
  [
    "concession",
    `despite although though even_as even_after in_spite_of notwithstanding regardless_of shrug*
    shrug_off shrugs_off shrugging_off shrugged_off brushes_off brushing_off looks_past look_past
    looks_beyond look_beyond defy* outweigh*`,
  ],
  ["origin", "from"],
  ["link", "as on over amid after because due_to before until when while ahead_of despite but and"],
];

/** Words that scale the verdict right after them, by factor. */
export const scales: readonly (readonly [factor: number, list: string])[] = [
  [
    1.3,
    `very really so much big huge strongly sharply significantly most too highly truly quite
    far_more a_lot way considerably substantially heavily deeply especially particularly
    never_been_this never_been_more never_been_so record`,
  ],
  [
    1.5,
    `extremely massive massively insanely hugely super incredibly absolutely totally completely
    dramatically exceptionally ridiculously fucking freaking damn`,
  ],
  [
    0.6,
    `slightly somewhat little bit modestly marginally a_bit a_little kind_of kinda sort_of sorta mildly
    partly partially fairly relatively less`,
  ],
];
