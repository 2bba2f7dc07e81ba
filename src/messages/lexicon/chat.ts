import type { LexiconTopic } from "./entries.ts";

/** Lexicon entries from trader slang about stocks, options and coins. */
export const chatTopic: LexiconTopic = [
  [
    3,
    `moon* lambo~ tendies multi/ten_bagger squeeze* rocketship send_it lfg lets_go blast_off
    blastoff liftoff`,
  ],
  [
    2.5,
    `wagmi printing money_printer printer_go shorts_burn/burning/trapped/squeezed bears_trapped
    bull_trend btd btfd all_in bottom_in ready/about_to_run/rip/pop/explode
    will/gonna_run/fly/moon/rip/pop diamond_hand~ hodl* hodler~ stack/stacking_sats supply_shock
    alt_season altseason halving`,
  ],
  [
    2,
    `bull bulls bullrun long longs calls call_option~/sweep~/flow load loaded loading accumulate*
    add_more added adding averaging_down average_down get/got/getting_in back_in jump*_in in_at
    nibble* scooped on_sale discount~ discounted fire_sale gift~ buy/buying/bought/buys_the_dip
    dip_buyer~/buying hold_tight/strong never/not_selling still_holding gem gems sleeper
    under_the_radar low_float shorts/short_covering/cover cover_shorts shorts/bears_beware
    rip/sorry/poor/lol_bears/shorts squeeze_shorts no_resistance blue_sky/skies clear_skies
    pay*_off cha/ka_ching cashing_in moneymaker cash_cow target_hit running next_leg gainz
    cheapest`,
  ],
  [
    1.5,
    `buy buying bought buyer~ great_entry call_spread~ reload* dca airdrop
    sold/selling/sell_my/the_puts huge massive big_things/money under_valued holy_grail pump_it
    pump_incoming token_burn`,
  ],
  [
    1,
    `hold holding holds held keep holders hands_off watch_this strap/buckle_in/up gap_fill bid bids
    cover covering target targets`,
  ],
  [
    0,
    `hold_your_horses/up holdings smart_money long_or_short calls_or_puts bid_ask keep_an_eye
    keep_in_mind put/puts_it/in/up/together/into/out/that/this/a/the/an/on bought_out`,
  ],
  [
    -1,
    `fomo pump* hopium copium cope coping chase chased chasing overheated too_late casino sold
    trimmed trimming trim slow_bleed chop wash_trading/sale exit* hedge* stopped/stop_out`,
  ],
  [
    -2,
    `bear bears bagholder~ bagholding bag_holder~/holding bag bags holding_the_bag left_holding
    puts put_option~/spread~/sweep~ bought/buying/loaded_puts short shorts shorted shorting
    shorter sell sells selling seller~ sell_the_rip/news sell_wall/signal dump*
    get/got/getting_out out_of_here give*_up sold/selling/sell_my/the_calls paper_hand~ paperhands
    panic_sell going_lower fud fudding shill* pumper~ stop_loss/losses margin_call~ iv_crush
    expire/expired/expires_worthless shitcoin~ ngmi sucker~ fools fool fooled trap trapped pig
    pigs toast cooked catching_knives offering overhang puke turd fleece* guh reality_check
    lower_prices`,
  ],
  [
    -2.5,
    `rekt wrecked rug rugged rug_pull~ rugpull~ exit_scam/liquidity honeypot to_zero blow*_up
    blown_account blew_account long_squeeze getting/got_killed/destroyed/crushed/smoked destroy*
    annihilated demolished bloody blood game_over its_over rip_longs/bulls/my depeg* exploit
    exploited`,
  ],
];

/** Emoji, listed without variation selectors and skin tones. */
export const emojiTopic: LexiconTopic = [
  [3, "🚀 🛸 🌕 🌝"],
  [2.5, "🌙 🌚 🌛 🌜 🐂 🐃 🐮 📈 🤑 💹"],
  [
    2,
    "💎 🙌 🟢 💰 💵 💴 💶 💷 💲 🎉 🎊 🥳 🍾 🍻 🥂 👍 💪 ✅ ✔ 🏆 🥇 😎 ⬆ ↗ 🔼 ⏫ 💚 📗 🟩 🤠 🎆 ☝ 👆",
  ],
  [1.5, "🔥 😍 😁 😀 😃 😄 🤩 😻 🥰 👏 🍀 ❤ 💸 💥 💯 🤘 ⚡ 🌟 ⭐ ✨ 🌞 ☀ 🦍 🦾 🍗 🏎 👑 🐳 🐋 👌"],
  [1, "🙏 😊 🙂 😏 🤞 😉 🎯 🤗 😌 👊 ✊ 💙 💛 🍿 🛒 🎁 ⏰ 🏦"],
  [-1, "🤔 🙄 🤥 😐 😑 😬 😕 🤨 😅 🧐 🤷 😶 💤 😴 🎰 🎈"],
  [
    -1.5,
    "😢 😔 😞 😩 😠 🤮 🤢 🤦 🚫 🐷 😵 😖 😣 😓 😟 🙁 ☹ 😒 😫 🥺 😥 😨 😧 😦 ⛔ ❌ 💔 🥶 🧻 😪",
  ],
  [-2, "🐻 🔻 👎 😱 🤡 ⚠ 🔴 😡 🤬 ⬇ ↘ 🗑 🛑 😭 🔽 ⏬ 🟥 📕 👇 🎪 🕳 🧨 🐍 ⚰"],
  [-2.5, "📉 🩸 💩 🚨 ☠ 💀 🪦 🖕 🔪"],
];
