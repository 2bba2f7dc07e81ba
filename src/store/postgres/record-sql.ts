import { lockKeySql } from "./locks.ts";

/** PostgreSQL notification channel for announcements to all processes. */
export const NOTIFY_CHANNEL = "market_signal";

/** SQL that converts a `json` array of record dump rows (`DumpRow`) to a table. */
const RECORD_ROWS = `json_to_recordset($1::json) as given(
  collection text, key text, text text, revision bigint, groups text[],
  "expiresAt" bigint, "dueAt" bigint, "consumedAt" bigint)`;

/** SQL statement that inserts record dump rows unchanged. */
export const INSERT_RECORDS_SQL = `
  insert into market_signal.record
    (collection, key, value, revision, groups, expires_at, due_at, consumed_at)
  select collection, key, text::json, revision, groups, "expiresAt", "dueAt", "consumedAt"
  from ${RECORD_ROWS}`;

/**
 * SQL that creates the record tables. Instants are milliseconds since the epoch. Values are `json`,
 * not `jsonb`, because `json` preserves their text.
 */
export const recordTablesSql = `
create sequence market_signal.revision;

create table market_signal.record (
  collection text collate "C" not null,
  key text collate "C" not null,
  value json not null,
  revision bigint not null,
  groups text[] collate "C" not null,
  expires_at bigint,
  due_at bigint,
  consumed_at bigint,
  primary key (collection, key)
);
create unique index record_revision on market_signal.record (collection, revision);
create index record_due on market_signal.record (collection, due_at, revision)
  where due_at is not null;
create index record_expiry on market_signal.record (expires_at) where expires_at is not null;
`;

/**
 * SQL that creates the commit function. Commits are serialized across all processes. Revisions
 * therefore increase in the order in which commits become visible, so that a reader that continues
 * after a revision misses no change, and commits cannot deadlock.
 */
export const commitFunctionSql = `
/* Returns whether each commit succeeded; a failed one has changed nothing. Null: none succeeded.
 *  All of them are rolled back if they have not ended by "finish". */
create or replace function market_signal.commit(commits json, now bigint, finish bigint) returns json
language plpgsql as $$
declare
  held boolean[] := '{}';
  steps json;
  step record;
begin
  for steps in select value from json_array_elements(commits) loop
    begin
      for step in
        select * from json_to_recordset(steps) as one(
          kind text, collection text, key text, revision bigint, value text, groups text[],
          ttl bigint, due bigint, "keepsTtl" boolean, "keepsDue" boolean, payload text,
          archived json, after bigint, last bigint, count bigint, newest bigint)
      loop
        perform market_signal.in_time(finish);
        case step.kind
        when 'put', 'insert' then
          insert into market_signal.record as there
            values (
              step.collection, step.key, step.value::json, nextval('market_signal.revision'),
              step.groups, now + step.ttl, now + step.due, null)
          on conflict (collection, key) do update set
            value = excluded.value, revision = excluded.revision, groups = excluded.groups,
            expires_at = excluded.expires_at, due_at = excluded.due_at, consumed_at = null
          where step.kind = 'put' or there.expires_at <= now;
        when 'replace' then
          update market_signal.record set
            value = step.value::json,
            revision = nextval('market_signal.revision'),
            groups = coalesce(step.groups, groups),
            expires_at = case when step."keepsTtl" then expires_at else now + step.ttl end,
            due_at = case when step."keepsDue" then due_at else now + step.due end
          where collection = step.collection and key = step.key and revision = step.revision
            and (expires_at is null or expires_at > now);
        when 'check' then
          perform from market_signal.record
          where collection = step.collection and key = step.key and revision = step.revision
            and (expires_at is null or expires_at > now);
        when 'checkAbsent' then
          perform where not exists (
            select from market_signal.record
            where collection = step.collection and key = step.key
              and (expires_at is null or expires_at > now));
        when 'checkList' then
          if step.key is null then
            perform from (
              select count(*) as records, max(revision) as newest from (
                select revision from market_signal.record
                where collection = step.collection and revision > step.after
                  and revision <= step.last and (expires_at is null or expires_at > now)
                order by revision limit step.count + 1) as read) as listed
            where records = step.count and coalesce(listed.newest, step.after) = step.newest;
          else
            perform from (
              select count(*) as records, max(revision) as newest from (
                select revision from market_signal.member
                where name = step.key and collection = step.collection and revision > step.after
                  and revision <= step.last and (expires_at is null or expires_at > now)
                order by revision limit step.count + 1) as read) as listed
            where records = step.count and coalesce(listed.newest, step.after) = step.newest;
          end if;
        when 'consume' then
          update market_signal.record set
            consumed_at = now, revision = nextval('market_signal.revision')
          where collection = step.collection and key = step.key and consumed_at is null
            and (expires_at is null or expires_at > now);
        when 'remove' then
          delete from market_signal.record
          where collection = step.collection and key = step.key
            and (step.revision is null or revision = step.revision)
            and (expires_at is null or expires_at > now);
        when 'removeGroup' then
          delete from market_signal.record using market_signal.member
          where member.name = step.key and member.collection = record.collection
            and member.revision = record.revision
            and (record.expires_at is null or record.expires_at > now);
        when 'append' then
          perform pg_advisory_xact_lock(${lockKeySql("archive")});
          perform market_signal.append(json_build_array(step.archived));
        when 'announce' then
          perform pg_notify('${NOTIFY_CHANNEL}', step.payload);
        end case;
        if not found
          and (step.kind in ('insert', 'replace', 'consume', 'checkAbsent', 'checkList')
            or step.revision is not null)
        then
          raise sqlstate 'MS001';
        end if;
      end loop;
      held := held || true;
    exception when sqlstate 'MS001' then
      held := held || false;
    end;
  end loop;
  return case when true = any (held) then to_json(held) end;
end $$;
`;

/** SQL that creates the other functions for records. */
export const recordFunctionsSql = `
create function market_signal.purge(most int, given bigint) returns bigint
language sql as $$
  delete from market_signal.answered where at < clock_timestamp() - interval '10 minutes';
  with gone as (
    delete from market_signal.record where (collection, key) in (
      select collection, key from market_signal.record
      where expires_at <= market_signal.instant(given, statement_timestamp())
      order by revision limit most for update skip locked)
    returning 1)
  select count(*) from gone;
$$;
`;
