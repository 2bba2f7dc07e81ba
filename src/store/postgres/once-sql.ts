import { lockKeySql } from "./locks.ts";

/** SQLSTATE for work that was rolled back because its deadline had passed. */
export const DEADLINE_PASSED_SQLSTATE = "MS002";

/**
 * SQL that creates the table with the results of completed work. If an answer is lost, the repeated
 * request gets the stored result.
 */
export const onceTablesSql = `
create table market_signal.answered (
  id uuid primary key,
  answer json not null,
  at timestamptz not null default clock_timestamp()
);
`;

/**
 * SQL that creates the functions with which work is done exactly once before its deadline, or
 * never.
 */
export const onceFunctionsSql = `
/* Milliseconds since the epoch: the given instant in tests, otherwise by the database's clock. */
create function market_signal.instant(given bigint, clock timestamptz) returns bigint
language sql stable return coalesce(given, floor(extract(epoch from clock) * 1000)::bigint);

/* Makes the transaction durable before it is acknowledged, whatever the settings of the server, the
 *  database or the role; a stricter setting is kept. */
create function market_signal.durably() returns void
language plpgsql as $$
begin
  if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'on', true);
  end if;
end $$;

/* Rolls the transaction back when an instant has passed; until then it may wait for locks. */
create function market_signal.in_time(finish bigint) returns void
language plpgsql as $$
declare
  left_ms bigint := finish - market_signal.instant(null, clock_timestamp());
begin
  if left_ms < 0 then
    raise sqlstate '${DEADLINE_PASSED_SQLSTATE}' using message = 'The time was over before the work was done.';
  end if;
  perform set_config('lock_timeout', least(left_ms + 1, 2147483647)::text, true);
end $$;

/*
 * Does work unless it was done before under the same id; the work "cancel" prevents it from being
 * done later. "clock": the instant by this server. "outcome": "late": nothing was done, since by
 * this clock the sender has given up; "replaced": nothing was done, since the store was replaced
 * after the sender read its epoch; "epoch" is the current one. "answer": null if nothing was
 * changed. Work that has not ended by "finish" is rolled back; only the commit itself may come
 * later.
 */
create function market_signal.once(
  asked uuid, work text, given json, now bigint, begin_by bigint, finish bigint, known_epoch uuid
)
returns json language plpgsql as $$
declare
  current uuid;
  known json;
  outcome text := 'done';
begin
  if market_signal.instant(null, clock_timestamp()) <= begin_by then
    perform market_signal.in_time(finish);
    perform market_signal.durably();
    if work = 'append' then
      perform pg_advisory_xact_lock(${lockKeySql("archive")});
    else
      perform pg_advisory_xact_lock(${lockKeySql("records")});
    end if;
  end if;
  select answer into known from market_signal.answered where id = asked;
  if not found then
    select epoch into current from market_signal.meta;
    if market_signal.instant(null, clock_timestamp()) > begin_by then
      outcome := 'late';
    elsif current is distinct from known_epoch then
      outcome := 'replaced';
    else
      perform market_signal.in_time(finish);
      known := case work
        when 'commit' then market_signal.commit(
          given, coalesce(now, market_signal.instant(null, clock_timestamp())), finish)
        when 'append' then market_signal.append(given)
        when 'cancel' then given
      end;
      if known is not null then
        insert into market_signal.answered (id, answer) values (asked, known);
      end if;
      perform market_signal.in_time(finish);
    end if;
  end if;
  return json_build_object(
    'clock', market_signal.instant(null, clock_timestamp()),
    'outcome', outcome, 'answer', known, 'epoch', current);
end $$;
`;
