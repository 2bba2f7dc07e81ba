/**
 * Effect of an entry on the sentiment of its neighbors:
 * - `rise`, `fall`: a quantity goes up or down; words for ending and settling count as down
 * - `burden`: a quantity whose decrease is good news
 * - `asset`: a quantity, such as profit, that counts as neutral while it decreases
 * - `rival`: people who gain when prices fall
 * - `negation`: inverts the words after it
 * - `aside`: the words after it are discounted ("despite weak data") or about the past ("slips from
 * highs")
 * - `link`: separates two statements ("falls as costs rise")
 */
export type LexiconRole =
  | "rise"
  | "fall"
  | "burden"
  | "asset"
  | "rival"
  | "negation"
  | "aside"
  | "link";

/** Entries grouped by role, written like the lists of a `LexiconTopic`. */
export const roleEntries: readonly (readonly [role: LexiconRole, list: string])[] = [
  [
    "rise",
    `up higher hot hotter more bigger larger heavier rise* increase* grow* widen* climb* jump*
    soar* surge* swell* mount* spike* double* triple* deepen* intensify* linger* persist* loom*
    raise* hike* balloon* build* accelerate* escalate* worsen* pile/piles_up`,
  ],
  [
    "fall",
    `down lowest less soft softer slower fewer smaller narrower low fall* drop* decline* decrease*
    narrow* shrink* reduce* cut* ease* slow* lower* trim* fade* halve* slash* slump* plunge*
    tumble* dip* slip* sink* retreat* shed* diminish* wane* recede* subside* abate* cool*
    dissipate* plateau* alleviate* allay* soothe* quell* calm* mitigate* contain* curb*
    rein/reins_in end* avoid* avert* dodge* escape* settle* settlement resolve* dismiss* scrap*
    remove* waive* suspend* delay* postpone* cancel* cancelled eliminate* weather* overcome*
    offset offsets repay* quash* overturn* defuse* getting/got_killed/destroyed/crushed`,
  ],
  [
    "burden",
    `loss losses net/quarterly_loss/losses debt~ cost~ expense~ unemployment jobless
    jobless/unemployment_claims claims inflation bad_debt~/loan~ deficit~ budget/trade_deficit
    risk~ default~ bankruptcies outflow~ layoff~ job_cuts inventory inventories crude_inventories
    stockpiles tariff~ sanction~ ban bans restriction~ lockdown~ trade_war/tensions war tension~
    fear~ concern~ worry worries doubt~ uncertainty uncertainties jitter~ pessimism lawsuit~ suit
    probe~ investigation~ charges litigation class_action dispute~ penalty penalties strike~
    crisis recession~ threat~ headwind~ shortage~ slump downturn~ selloff~ slowdown~ outbreak~
    pandemic virus cases infections deaths churn complaint~ cancellation~ delinquencies stress
    taxes fees volatility vix pressure pressures writedown~ impairment~ dilution rig_count
    crude/oil_supply`,
  ],
  [
    "asset",
    `profit profits profitability growth dividend~ demand confidence optimism momentum enthusiasm
    hope hopes sentiment recovery gains revenue sales earnings income margins orders contract deal
    agreement partnership support strength upside long longs bulls`,
  ],
  ["rival", "shorts bears short_sellers"],
  [
    "negation",
    `never no not none neither nor nobody nothing without hardly barely less cannot cant wont dont
    isnt wasnt arent werent didnt doesnt hasnt havent hadnt wouldnt shouldnt couldnt aint stop
    no_longer fail/fails/failed/failing/struggle/struggles/struggling_to unable/unlikely_to
    refuses/refused_to far_from lack_of rather_than instead_of no_sign_of anything_but
    not_very/so/as/that`,
  ],
  [
    "aside",
    `from despite although though even_as/after in_spite_of notwithstanding regardless_of
    shrug/shrugs/shrugging/shrugged/brush/brushes/brushing_off look/looks_past/beyond defy*
    outweigh*`,
  ],
  ["link", "as on over amid after because due_to before until when while ahead_of despite but and"],
];

/** Entries that multiply the sentiment of the next entry, grouped by the factor. */
export const scaleEntries: readonly (readonly [factor: number, list: string])[] = [
  [
    1.3,
    `very really so much most too big huge way far_more a_lot highly truly quite strongly sharply
    significantly considerably substantially heavily deeply especially particularly record`,
  ],
  [
    1.5,
    `extremely massive massively insanely hugely super incredibly absolutely totally completely
    dramatically exceptionally ridiculously fucking freaking damn`,
  ],
  [
    0.6,
    `slightly somewhat little bit a_bit/little kind/sort_of kinda sorta modestly marginally mildly
    partly partially fairly relatively less`,
  ],
];
