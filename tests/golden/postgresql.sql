## the clock
SELECT pg_catalog.pg_backend_pid(), pg_catalog.current_schema(), (SELECT n.nspname
  FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
  WHERE c.oid = pg_catalog.to_regclass('coordination_meta')), pg_catalog.current_setting('synchronous_commit'), pg_catalog.current_setting('default_transaction_isolation'), pg_catalog.current_setting('plan_cache_mode'), pg_catalog.current_setting('jit')
SELECT store_id, schema_version, readable_by
  FROM coordination_meta
SELECT CAST($1 AS BIGINT)

## register a source
INSERT INTO coordination_sources (source_identifier, facts, updated_at)
  VALUES ($1, $2, CAST($3 AS BIGINT))
  ON CONFLICT (source_identifier) DO UPDATE
  SET facts = excluded.facts, updated_at = excluded.updated_at

## create partitions
WITH given AS MATERIALIZED (SELECT *
  FROM unnest(CAST($1 AS TEXT[]), CAST($2 AS TEXT[]), CAST($3 AS INTEGER[]), CAST($4 AS BIGINT[]), CAST($5 AS TEXT[])) AS page (key, payload, priority, place, parents)), page AS MATERIALIZED (SELECT nextval('coordination_pages') AS number, CAST($6 AS BIGINT) AS now), made AS (INSERT INTO coordination_partitions (source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, closed_count, failures, lost_leases, available_at, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, ready, position)
  SELECT $7, given.key, 'UNASSIGNED', given.payload, given.priority, (SELECT number
  FROM page) * 1048576 + given.place, 2, 0, 0, 0, (SELECT now
  FROM page), (SELECT now
  FROM page), (SELECT now
  FROM page), 0, '', $8, $8, $8, 0, 0, 3, (SELECT number
  FROM page) * 1048576 + given.place
  FROM given
  ORDER BY given.key COLLATE "C"
  ON CONFLICT (source_identifier, source_partition_key) DO NOTHING
  RETURNING 1), revived AS (UPDATE coordination_partitions AS p
  SET source_partition_status = 'UNASSIGNED', rank = 2, closed_count = 0, failures = 0, lost_leases = 0, partition_progress_state = NULL, last_error = NULL, reopen_at = NULL, partition_owner = NULL, partition_ownership_timeout = NULL, staged = NULL, max_lost_leases = NULL, max_failures = NULL, acquired_at = NULL, owner_details = NULL, accounting = NULL, awaited_op = NULL, wanted_by = NULL, wanted_token = NULL, wanted_until = NULL, last_op = $8, create_op = $8, generation = $8, confirmed = 0, deleted = 0, timed = NULL, due_at = NULL, ready = 3, parents = NULL, waits_for = NULL, payload = given.payload, priority = given.priority, ordinal = (SELECT number
  FROM page) * 1048576 + given.place, position = (SELECT number
  FROM page) * 1048576 + given.place, available_at = (SELECT now
  FROM page), created_at = (SELECT now
  FROM page), updated_at = (SELECT now
  FROM page)
  FROM given
  WHERE (SELECT count(*)
  FROM made) < (SELECT count(*)
  FROM given) AND p.source_identifier = $7 AND p.deleted = 1 AND p.source_partition_key = given.key AND p.create_op <> $8
  RETURNING 1)
  SELECT (SELECT count(*)
  FROM made) + (SELECT count(*)
  FROM revived)

## create partitions that exist
(as under: create partitions)
WITH given AS MATERIALIZED (SELECT *
  FROM unnest(CAST($1 AS TEXT[]), CAST($2 AS TEXT[]), CAST($3 AS INTEGER[]), CAST($4 AS BIGINT[]), CAST($5 AS TEXT[])) AS page (key, payload, priority, place, parents)), found AS MATERIALIZED (
  SELECT given.key, given.place, CASE WHEN p.create_op = $6 THEN 1 ELSE 0 END AS mine, CASE WHEN p.payload IS DISTINCT
  FROM given.payload OR p.parents IS DISTINCT
  FROM given.parents OR p.priority <> given.priority THEN 1 ELSE 0 END AS differs
  FROM given JOIN coordination_partitions AS p ON p.source_identifier = $7 AND p.source_partition_key = given.key)
  SELECT (SELECT sum(mine)
  FROM found), key
  FROM (SELECT NULL AS key, -1 AS place
  UNION ALL
  SELECT *
  FROM (SELECT key, place
  FROM found
  WHERE mine = 0 AND differs = 1
  ORDER BY place LIMIT 100) AS differing) AS answer
  ORDER BY place

## list what is claimable
SELECT key, token
  FROM (SELECT 0 AS class, all_0.*
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 0 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $1 AND ready = 0
  ORDER BY priority, position, ordinal LIMIT $2) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 1 AS timed, priority, partition_ownership_timeout AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $1 AND timed = 1 AND due_at <= CAST($3 AS BIGINT) AND due_at >= $4 AND partition_ownership_timeout <= CAST($3 AS BIGINT)
  ORDER BY priority, partition_ownership_timeout, ordinal LIMIT $2) AS branch_1) AS all_0
  UNION ALL
  SELECT 1 AS class, all_1.*
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 1 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $1 AND ready = 1
  ORDER BY priority, position, ordinal LIMIT $2) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 2 AS timed, priority, reopen_at AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $1 AND timed = 2 AND due_at <= CAST($3 AS BIGINT) AND due_at >= $4
  ORDER BY priority, reopen_at, ordinal LIMIT $2) AS branch_1) AS all_1
  UNION ALL
  SELECT 2 AS class, all_2.*
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 2 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $1 AND ready = 2
  ORDER BY priority, position, ordinal LIMIT $2) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT head.key, head.token, head.ready, head.timed, head.priority, head.position, head.ordinal, head.last, head.low
  FROM unnest(CAST($5 AS INTEGER[]), CAST($6 AS INTEGER[]), CAST($7 AS BIGINT[]))
  WITH ORDINALITY AS span (first, last, low, number)
  CROSS JOIN LATERAL (SELECT source_partition_key AS key, token, 3 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, span.last, span.low
  FROM coordination_partitions
  WHERE source_identifier = $1 AND ready = 3 AND (priority, position) >= (span.first, span.low) AND priority <= span.last AND position >= span.low
  ORDER BY priority, position, ordinal LIMIT $2) AS head) AS branch_1
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 0 AS timed, priority, ordinal AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $1 AND timed = 0 AND due_at <= CAST($3 AS BIGINT) AND due_at >= $4
  ORDER BY priority, ordinal, ordinal LIMIT $2) AS branch_2) AS all_2) AS everything
  ORDER BY class, priority, position, ordinal LIMIT $2

## acquire by hint
UPDATE coordination_partitions
  SET source_partition_status = 'ASSIGNED', token = token + 1, nonce = $1, last_op = $1, max_lost_leases = $2, max_failures = $3, partition_owner = $4, owner_task = $5, owner_try = $6, partition_ownership_timeout = CAST($7 AS BIGINT) + $8, acquired_at = CAST($7 AS BIGINT), owner_details = $9, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = CAST($7 AS BIGINT), ready = NULL, timed = 1, due_at = CAST($7 AS BIGINT) + $8
  WHERE source_identifier = $10 AND source_partition_key = $11 AND token = $12 AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= CAST($7 AS BIGINT)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = $10 AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7

## acquire by a hint that is used up
(as under: acquire by hint)
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = $1 AND source_partition_key = $2
UPDATE coordination_partitions
  SET source_partition_status = 'ASSIGNED', token = token + 1, nonce = $1, last_op = $1, max_lost_leases = $2, max_failures = $3, partition_owner = $4, owner_task = $5, owner_try = $6, partition_ownership_timeout = CAST($7 AS BIGINT) + $8, acquired_at = CAST($7 AS BIGINT), owner_details = $9, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = CAST($7 AS BIGINT), ready = NULL, timed = 1, due_at = CAST($7 AS BIGINT) + $8
  WHERE source_identifier = $10 AND source_partition_key = (SELECT fresh.key
  FROM unnest(CAST($11 AS INTEGER[]), CAST($12 AS INTEGER[]), CAST($13 AS BIGINT[]))
  WITH ORDINALITY AS span (first, last, low, number)
  CROSS JOIN LATERAL (
  SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $10 AND ready = 3 AND (priority, position) >= (span.first, span.low) AND priority <= span.last AND position >= span.low
  ORDER BY priority, position, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS fresh
  WHERE (SELECT ready
  FROM coordination_partitions
  WHERE source_identifier = $10 AND ready < 3
  ORDER BY ready LIMIT 1) IS NULL AND (SELECT due_at
  FROM coordination_partitions
  WHERE source_identifier = $10 AND timed = 0 AND due_at <= CAST($7 AS BIGINT) AND due_at >= $14
  ORDER BY due_at LIMIT 1) IS NULL AND (SELECT due_at
  FROM coordination_partitions
  WHERE source_identifier = $10 AND timed = 1 AND due_at <= CAST($7 AS BIGINT) AND due_at >= $14
  ORDER BY due_at LIMIT 1) IS NULL AND (SELECT due_at
  FROM coordination_partitions
  WHERE source_identifier = $10 AND timed = 2 AND due_at <= CAST($7 AS BIGINT) AND due_at >= $14
  ORDER BY due_at LIMIT 1) IS NULL LIMIT 1) AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= CAST($7 AS BIGINT)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = $10 AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7

## acquire
(as under: acquire by a hint that is used up)

## complete and get the next
WITH done AS (UPDATE coordination_partitions
  SET ring_1 = $1 || CAST($2 AS BIGINT), source_partition_status = $3, closed_count = $4, reopen_at = CAST($2 AS BIGINT) + $5, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = $6, updated_at = CAST($2 AS BIGINT), failures = $7, lost_leases = $8, last_error = $9, rank = 2, available_at = CAST($2 AS BIGINT) + $10, generation = $11, staged = NULL, ready = $12, position = ordinal, timed = $13, due_at = CAST($2 AS BIGINT) + $14
  WHERE source_identifier = $15 AND source_partition_key = $16 AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = $17 AND nonce = $18 AND last_op = $19
  RETURNING source_partition_key), done_beside_0 AS (INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, CAST($2 AS BIGINT), $20, $6, $3, $4, $21, $22, $23, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = $15 AND source_partition_key = ANY (ARRAY(SELECT source_partition_key
  FROM done)) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING), done_beside_1 AS (UPDATE coordination_sources
  SET failing_error = NULL, failing_marks = NULL, failing_since_op = NULL
  WHERE source_identifier = $15 AND failing_error IS NOT NULL AND EXISTS (SELECT 1
  FROM done)), following AS (UPDATE coordination_partitions
  SET source_partition_status = 'ASSIGNED', token = token + 1, nonce = $24, last_op = $24, max_lost_leases = $25, max_failures = $26, partition_owner = $27, owner_task = $28, owner_try = $29, partition_ownership_timeout = CAST($30 AS BIGINT) + $31, acquired_at = CAST($30 AS BIGINT), owner_details = $32, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = CAST($30 AS BIGINT), ready = NULL, timed = 1, due_at = CAST($30 AS BIGINT) + $31
  WHERE EXISTS (SELECT 1
  FROM done) AND source_identifier = $33 AND source_partition_key = (SELECT fresh.key
  FROM unnest(CAST($34 AS INTEGER[]), CAST($35 AS INTEGER[]), CAST($36 AS BIGINT[]))
  WITH ORDINALITY AS span (first, last, low, number)
  CROSS JOIN LATERAL (
  SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $33 AND ready = 3 AND (priority, position) >= (span.first, span.low) AND priority <= span.last AND position >= span.low AND source_partition_key <> $16
  ORDER BY priority, position, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS fresh
  WHERE (SELECT ready
  FROM coordination_partitions
  WHERE source_identifier = $33 AND ready < 3
  ORDER BY ready LIMIT 1) IS NULL AND (SELECT due_at
  FROM coordination_partitions
  WHERE source_identifier = $33 AND timed = 0 AND due_at <= CAST($30 AS BIGINT) AND due_at >= $37
  ORDER BY due_at LIMIT 1) IS NULL AND (SELECT due_at
  FROM coordination_partitions
  WHERE source_identifier = $33 AND timed = 1 AND due_at <= CAST($30 AS BIGINT) AND due_at >= $37
  ORDER BY due_at LIMIT 1) IS NULL AND (SELECT due_at
  FROM coordination_partitions
  WHERE source_identifier = $33 AND timed = 2 AND due_at <= CAST($30 AS BIGINT) AND due_at >= $37
  ORDER BY due_at LIMIT 1) IS NULL LIMIT 1) AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= CAST($30 AS BIGINT)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = $33 AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7)
  SELECT answer.applied, following.*
  FROM (SELECT count(*) AS applied
  FROM done) AS answer
  LEFT JOIN following ON true

## acquire, new ones first
UPDATE coordination_partitions
  SET source_partition_status = 'ASSIGNED', token = token + 1, nonce = $1, last_op = $1, max_lost_leases = $2, max_failures = $3, partition_owner = $4, owner_task = $5, owner_try = $6, partition_ownership_timeout = CAST($7 AS BIGINT) + $8, acquired_at = CAST($7 AS BIGINT), owner_details = $9, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = CAST($7 AS BIGINT), ready = NULL, timed = 1, due_at = CAST($7 AS BIGINT) + $8
  WHERE source_identifier = $10 AND source_partition_key = (SELECT fresh.key
  FROM unnest(CAST($11 AS INTEGER[]), CAST($12 AS INTEGER[]), CAST($13 AS BIGINT[]))
  WITH ORDINALITY AS span (first, last, low, number)
  CROSS JOIN LATERAL (
  SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $10 AND ready = 3 AND (priority, position) >= (span.first, span.low) AND priority <= span.last AND position >= span.low
  ORDER BY priority, position, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS fresh
  WHERE (SELECT ready
  FROM coordination_partitions
  WHERE source_identifier = $10 AND ready = 2
  ORDER BY ready LIMIT 1) IS NULL AND (SELECT due_at
  FROM coordination_partitions
  WHERE source_identifier = $10 AND timed = 0 AND due_at <= CAST($7 AS BIGINT) AND due_at >= $14
  ORDER BY due_at LIMIT 1) IS NULL LIMIT 1) AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= CAST($7 AS BIGINT)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = $10 AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7

## acquire by key
WITH done AS (UPDATE coordination_partitions
  SET ring_0 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 0 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_0 END, ring_1 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 1 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_1 END, ring_2 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 2 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_2 END, ring_3 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 3 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_3 END, ring_4 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 4 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_4 END, ring_5 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 5 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_5 END, ring_6 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 6 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_6 END, ring_7 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 7 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_7 END, lost_leases = lost_leases + CASE WHEN source_partition_status = 'ASSIGNED' THEN CASE WHEN confirmed = 0 AND last_op = nonce THEN 0 ELSE 1 END ELSE 0 END, source_partition_status = 'ASSIGNED', token = token + 1, nonce = $1, last_op = $1, max_lost_leases = $3, max_failures = $4, partition_owner = $5, owner_task = $6, owner_try = $7, partition_ownership_timeout = CAST($2 AS BIGINT) + $8, acquired_at = CAST($2 AS BIGINT), owner_details = $9, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = CAST($2 AS BIGINT), ready = NULL, timed = 1, due_at = CAST($2 AS BIGINT) + $8
  WHERE source_identifier = $10 AND source_partition_key = $11 AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= CAST($2 AS BIGINT) OR source_partition_status = 'ASSIGNED' AND partition_ownership_timeout <= CAST($2 AS BIGINT) AND lost_leases + 1 < coalesce(max_lost_leases, $3)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = $10 AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7), done_beside_0 AS (INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, CAST($2 AS BIGINT), 'lost', $1, 'ASSIGNED', closed_count, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = $10 AND source_partition_key = ANY (ARRAY(SELECT source_partition_key
  FROM done)) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING)
  SELECT *
  FROM done

## renew
UPDATE coordination_partitions
  SET partition_ownership_timeout = CASE WHEN partition_ownership_timeout > CAST($1 AS BIGINT) + $2 THEN partition_ownership_timeout ELSE CAST($1 AS BIGINT) + $2 END, confirmed = 1, due_at = CASE WHEN due_at < CAST($1 AS BIGINT) + $3 THEN CASE WHEN partition_ownership_timeout > CAST($1 AS BIGINT) + $2 THEN partition_ownership_timeout ELSE CAST($1 AS BIGINT) + $2 END ELSE due_at END
  WHERE source_identifier = $4 AND source_partition_key = $5 AND source_partition_status = 'ASSIGNED' AND token = $6 AND nonce = $7
  RETURNING partition_ownership_timeout, CASE WHEN wanted_token = token THEN wanted_by END

## begin
UPDATE coordination_partitions
  SET partition_ownership_timeout = CASE WHEN partition_ownership_timeout > CAST($1 AS BIGINT) + $2 THEN partition_ownership_timeout ELSE CAST($1 AS BIGINT) + $2 END, last_op = $3, updated_at = CAST($1 AS BIGINT), owner_details = $4, due_at = CASE WHEN due_at < CAST($1 AS BIGINT) + $5 THEN CASE WHEN partition_ownership_timeout > CAST($1 AS BIGINT) + $2 THEN partition_ownership_timeout ELSE CAST($1 AS BIGINT) + $2 END ELSE due_at END
  WHERE source_identifier = $6 AND source_partition_key = $7 AND source_partition_status = 'ASSIGNED' AND token = $8 AND nonce = $9 AND last_op = $10
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7

## save
UPDATE coordination_partitions
  SET partition_ownership_timeout = CASE WHEN partition_ownership_timeout > CAST($1 AS BIGINT) + $2 THEN partition_ownership_timeout ELSE CAST($1 AS BIGINT) + $2 END, last_op = $3, updated_at = CAST($1 AS BIGINT), partition_progress_state = $4, staged = $5, due_at = CASE WHEN due_at < CAST($1 AS BIGINT) + $6 THEN CASE WHEN partition_ownership_timeout > CAST($1 AS BIGINT) + $2 THEN partition_ownership_timeout ELSE CAST($1 AS BIGINT) + $2 END ELSE due_at END
  WHERE source_identifier = $7 AND source_partition_key = $8 AND source_partition_status = 'ASSIGNED' AND token = $9 AND nonce = $10 AND last_op = $11
  RETURNING partition_ownership_timeout, CASE WHEN wanted_token = token THEN wanted_by END

## adopt
UPDATE coordination_partitions
  SET partition_owner = $1, owner_task = $2, owner_try = $3
  WHERE source_identifier = $4 AND source_partition_key = $5 AND source_partition_status = 'ASSIGNED' AND token = $6 AND nonce = $7 AND owner_try <= $3
  RETURNING 1
(as under: acquire by a hint that is used up)
(as under: renew)

## retake
(as under: acquire by a hint that is used up)
WITH done AS (UPDATE coordination_partitions
  SET ring_0 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 0 THEN token || '|' || nonce || '|retaken|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_0 END, ring_1 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 1 THEN token || '|' || nonce || '|retaken|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_1 END, ring_2 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 2 THEN token || '|' || nonce || '|retaken|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_2 END, ring_3 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 3 THEN token || '|' || nonce || '|retaken|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_3 END, ring_4 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 4 THEN token || '|' || nonce || '|retaken|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_4 END, ring_5 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 5 THEN token || '|' || nonce || '|retaken|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_5 END, ring_6 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 6 THEN token || '|' || nonce || '|retaken|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_6 END, ring_7 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 7 THEN token || '|' || nonce || '|retaken|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_7 END, lost_leases = lost_leases + CASE WHEN source_partition_status = 'ASSIGNED' THEN CASE WHEN confirmed = 0 AND last_op = nonce THEN 0 ELSE 1 END ELSE 0 END, source_partition_status = 'ASSIGNED', token = token + 1, nonce = $1, last_op = $1, max_lost_leases = $3, max_failures = $4, partition_owner = $5, owner_task = $6, owner_try = $7, partition_ownership_timeout = CAST($2 AS BIGINT) + $8, acquired_at = CAST($2 AS BIGINT), owner_details = $9, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = CAST($2 AS BIGINT), ready = NULL, timed = 1, due_at = CAST($2 AS BIGINT) + $8
  WHERE source_identifier = $10 AND source_partition_key = $11 AND source_partition_status = 'ASSIGNED' AND token = $12 AND last_op = $13 AND owner_task = $6 AND owner_try < $14 AND lost_leases + 1 < coalesce(max_lost_leases, $3)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7), done_beside_0 AS (INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, CAST($2 AS BIGINT), 'retaken', $1, 'ASSIGNED', closed_count, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = $10 AND source_partition_key = ANY (ARRAY(SELECT source_partition_key
  FROM done)) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING)
  SELECT *
  FROM done

## complete, with blocks of two datasets
WITH done AS (UPDATE coordination_partitions
  SET ring_2 = $1 || CAST($2 AS BIGINT), source_partition_status = $3, closed_count = $4, reopen_at = CAST($2 AS BIGINT) + $5, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = $6, updated_at = CAST($2 AS BIGINT), failures = $7, lost_leases = $8, last_error = $9, rank = 2, available_at = CAST($2 AS BIGINT) + $10, generation = $11, staged = NULL, ready = $12, position = ordinal, timed = $13, due_at = CAST($2 AS BIGINT) + $14
  WHERE source_identifier = $15 AND source_partition_key = $16 AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = $17 AND nonce = $18 AND last_op = $19
  RETURNING source_partition_key), done_beside_0 AS (INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, CAST($2 AS BIGINT), $20, $6, $3, $4, $21, $22, $23, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = $15 AND source_partition_key = ANY (ARRAY(SELECT source_partition_key
  FROM done)) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING), done_beside_1 AS (UPDATE coordination_sources
  SET failing_error = NULL, failing_marks = NULL, failing_since_op = NULL
  WHERE source_identifier = $15 AND failing_error IS NOT NULL AND EXISTS (SELECT 1
  FROM done)), done_beside_2 AS (INSERT INTO coordination_heads (source_identifier, dataset, source_partition_key, blocks, row_count, byte_count, generation, op, token, kind, state, accounting, published_at)
  SELECT head.source_identifier, head.dataset, head.source_partition_key, head.blocks, head.row_count, head.byte_count, head.generation, head.op, head.token, head.kind, head.state, head.accounting, CAST($2 AS BIGINT)
  FROM done
  CROSS JOIN unnest(CAST($24 AS TEXT[]), CAST($25 AS TEXT[]), CAST($26 AS TEXT[]), CAST($27 AS TEXT[]), CAST($28 AS BIGINT[]), CAST($29 AS BIGINT[]), CAST($30 AS TEXT[]), CAST($31 AS TEXT[]), CAST($32 AS BIGINT[]), CAST($33 AS TEXT[]), CAST($34 AS TEXT[]), CAST($35 AS TEXT[])) AS head (source_identifier, dataset, source_partition_key, blocks, row_count, byte_count, generation, op, token, kind, state, accounting)
  ON CONFLICT (source_identifier, dataset, source_partition_key) DO UPDATE
  SET blocks = excluded.blocks, row_count = excluded.row_count, byte_count = excluded.byte_count, generation = excluded.generation, op = excluded.op, token = excluded.token, kind = excluded.kind, state = excluded.state, accounting = excluded.accounting, published_at = excluded.published_at)
  SELECT *
  FROM done

## complete
WITH done AS (UPDATE coordination_partitions
  SET ring_1 = $1 || CAST($2 AS BIGINT), source_partition_status = $3, closed_count = $4, reopen_at = CAST($2 AS BIGINT) + $5, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = $6, updated_at = CAST($2 AS BIGINT), failures = $7, lost_leases = $8, last_error = $9, rank = 2, available_at = CAST($2 AS BIGINT) + $10, generation = $11, staged = NULL, ready = $12, position = ordinal, timed = $13, due_at = CAST($2 AS BIGINT) + $14
  WHERE source_identifier = $15 AND source_partition_key = $16 AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = $17 AND nonce = $18 AND last_op = $19
  RETURNING source_partition_key), done_beside_0 AS (INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, CAST($2 AS BIGINT), $20, $6, $3, $4, $21, $22, $23, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = $15 AND source_partition_key = ANY (ARRAY(SELECT source_partition_key
  FROM done)) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING), done_beside_1 AS (UPDATE coordination_sources
  SET failing_error = NULL, failing_marks = NULL, failing_since_op = NULL
  WHERE source_identifier = $15 AND failing_error IS NOT NULL AND EXISTS (SELECT 1
  FROM done))
  SELECT *
  FROM done

## close
WITH done AS (UPDATE coordination_partitions
  SET ring_1 = $1 || CAST($2 AS BIGINT), source_partition_status = $3, closed_count = $4, reopen_at = CAST($2 AS BIGINT) + $5, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = $6, updated_at = CAST($2 AS BIGINT), failures = $7, lost_leases = $8, last_error = $9, rank = 2, available_at = CAST($2 AS BIGINT) + $10, generation = $11, partition_progress_state = $12, staged = NULL, ready = $13, position = ordinal, timed = $14, due_at = CAST($2 AS BIGINT) + $15
  WHERE source_identifier = $16 AND source_partition_key = $17 AND source_partition_status = 'ASSIGNED' AND token = $18 AND nonce = $19 AND last_op = $20
  RETURNING source_partition_key), done_beside_0 AS (INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, CAST($2 AS BIGINT), $21, $6, $3, $4, $22, $23, $24, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = $16 AND source_partition_key = ANY (ARRAY(SELECT source_partition_key
  FROM done)) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING), done_beside_1 AS (UPDATE coordination_sources
  SET failing_error = NULL, failing_marks = NULL, failing_since_op = NULL
  WHERE source_identifier = $16 AND failing_error IS NOT NULL AND EXISTS (SELECT 1
  FROM done))
  SELECT *
  FROM done

## fail
WITH done AS (UPDATE coordination_partitions
  SET ring_1 = $1 || CAST($2 AS BIGINT), source_partition_status = $3, closed_count = $4, reopen_at = CAST($2 AS BIGINT) + $5, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = $6, updated_at = CAST($2 AS BIGINT), failures = $7, lost_leases = $8, last_error = $9, rank = 2, available_at = CAST($2 AS BIGINT) + $10, generation = $11, ready = $12, position = ordinal, timed = $13, due_at = CAST($2 AS BIGINT) + $14
  WHERE source_identifier = $15 AND source_partition_key = $16 AND source_partition_status = 'ASSIGNED' AND token = $17 AND nonce = $18 AND last_op = $19
  RETURNING source_partition_key), done_beside_0 AS (INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, CAST($2 AS BIGINT), $20, $6, $3, $4, $21, $22, $23, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = $15 AND source_partition_key = ANY (ARRAY(SELECT source_partition_key
  FROM done)) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING), done_beside_1 AS (UPDATE coordination_sources
  SET failing_marks = CASE WHEN failing_error = $24 AND failing_since_op = coalesce(pause_op, '') THEN CASE WHEN length(failing_marks) < 900 THEN replace(failing_marks, $25, '') || $25 ELSE failing_marks END ELSE $25 END, failing_error = $24, failing_since_op = coalesce(pause_op, '')
  WHERE source_identifier = $15 AND EXISTS (SELECT 1
  FROM done))
  SELECT *
  FROM done
SELECT paused, pause_by, pause_why, pause_at, pause_op, CASE WHEN failing_since_op = coalesce(pause_op, '') THEN failing_error END, failing_marks
  FROM coordination_sources
  WHERE source_identifier = $1

## give up
WITH done AS (UPDATE coordination_partitions
  SET ring_1 = $1 || CAST($2 AS BIGINT), source_partition_status = $3, closed_count = $4, reopen_at = CAST($2 AS BIGINT) + $5, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = $6, updated_at = CAST($2 AS BIGINT), failures = $7, lost_leases = $8, last_error = $9, rank = 2, available_at = CAST($2 AS BIGINT) + $10, generation = $11, ready = $12, position = ordinal, timed = $13, due_at = CAST($2 AS BIGINT) + $14
  WHERE source_identifier = $15 AND source_partition_key = $16 AND source_partition_status = 'ASSIGNED' AND token = $17 AND nonce = $18 AND last_op = $19
  RETURNING source_partition_key), done_beside_0 AS (INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, CAST($2 AS BIGINT), $20, $6, $3, $4, $21, $22, $23, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = $15 AND source_partition_key = ANY (ARRAY(SELECT source_partition_key
  FROM done)) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING)
  SELECT *
  FROM done

## give up for a while
WITH done AS (UPDATE coordination_partitions
  SET ring_2 = $1 || CAST($2 AS BIGINT), source_partition_status = $3, closed_count = $4, reopen_at = CAST($2 AS BIGINT) + $5, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = $6, updated_at = CAST($2 AS BIGINT), failures = $7, lost_leases = $8, last_error = $9, rank = 2, available_at = CAST($2 AS BIGINT) + $10, generation = $11, ready = $12, position = ordinal, timed = $13, due_at = CAST($2 AS BIGINT) + $14
  WHERE source_identifier = $15 AND source_partition_key = $16 AND source_partition_status = 'ASSIGNED' AND token = $17 AND nonce = $18 AND last_op = $19
  RETURNING source_partition_key), done_beside_0 AS (INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, CAST($2 AS BIGINT), $20, $6, $3, $4, $21, $22, $23, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = $15 AND source_partition_key = ANY (ARRAY(SELECT source_partition_key
  FROM done)) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING)
  SELECT *
  FROM done

## complete and get the next, which returned
(as under: complete and get the next)

## complete and get the next, just after that
WITH done AS (UPDATE coordination_partitions
  SET ring_2 = $1 || CAST($2 AS BIGINT), source_partition_status = $3, closed_count = $4, reopen_at = CAST($2 AS BIGINT) + $5, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = $6, updated_at = CAST($2 AS BIGINT), failures = $7, lost_leases = $8, last_error = $9, rank = 2, available_at = CAST($2 AS BIGINT) + $10, generation = $11, staged = NULL, ready = $12, position = ordinal, timed = $13, due_at = CAST($2 AS BIGINT) + $14
  WHERE source_identifier = $15 AND source_partition_key = $16 AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = $17 AND nonce = $18 AND last_op = $19
  RETURNING source_partition_key), done_beside_0 AS (INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, CAST($2 AS BIGINT), $20, $6, $3, $4, $21, $22, $23, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = $15 AND source_partition_key = ANY (ARRAY(SELECT source_partition_key
  FROM done)) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING), done_beside_1 AS (UPDATE coordination_sources
  SET failing_error = NULL, failing_marks = NULL, failing_since_op = NULL
  WHERE source_identifier = $15 AND failing_error IS NOT NULL AND EXISTS (SELECT 1
  FROM done)), following AS (UPDATE coordination_partitions
  SET ring_0 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 0 THEN token || '|' || nonce || '|lost|' || $24 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($25 AS BIGINT) ELSE ring_0 END, ring_1 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 1 THEN token || '|' || nonce || '|lost|' || $24 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($25 AS BIGINT) ELSE ring_1 END, ring_2 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 2 THEN token || '|' || nonce || '|lost|' || $24 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($25 AS BIGINT) ELSE ring_2 END, ring_3 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 3 THEN token || '|' || nonce || '|lost|' || $24 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($25 AS BIGINT) ELSE ring_3 END, ring_4 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 4 THEN token || '|' || nonce || '|lost|' || $24 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($25 AS BIGINT) ELSE ring_4 END, ring_5 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 5 THEN token || '|' || nonce || '|lost|' || $24 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($25 AS BIGINT) ELSE ring_5 END, ring_6 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 6 THEN token || '|' || nonce || '|lost|' || $24 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($25 AS BIGINT) ELSE ring_6 END, ring_7 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 7 THEN token || '|' || nonce || '|lost|' || $24 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($25 AS BIGINT) ELSE ring_7 END, lost_leases = lost_leases + CASE WHEN source_partition_status = 'ASSIGNED' THEN CASE WHEN confirmed = 0 AND last_op = nonce THEN 0 ELSE 1 END ELSE 0 END, source_partition_status = 'ASSIGNED', token = token + 1, nonce = $24, last_op = $24, max_lost_leases = $26, max_failures = $27, partition_owner = $28, owner_task = $29, owner_try = $30, partition_ownership_timeout = CAST($25 AS BIGINT) + $31, acquired_at = CAST($25 AS BIGINT), owner_details = $32, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = CAST($25 AS BIGINT), ready = NULL, timed = 1, due_at = CAST($25 AS BIGINT) + $31
  WHERE EXISTS (SELECT 1
  FROM done) AND source_identifier = $33 AND source_partition_key = coalesce((SELECT free.key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 0 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $33 AND ready = 0 AND source_partition_key <> $16
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 1 AS timed, priority, partition_ownership_timeout AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $33 AND timed = 1 AND due_at <= CAST($25 AS BIGINT) AND due_at >= $34 AND partition_ownership_timeout <= CAST($25 AS BIGINT) AND lost_leases + 1 < coalesce(max_lost_leases, $26) AND source_partition_key <> $16
  ORDER BY priority, partition_ownership_timeout, ordinal LIMIT 1) AS branch_1) AS heads
  ORDER BY priority, position, ordinal) AS head
  CROSS JOIN LATERAL (SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $33 AND ready = head.ready AND source_partition_key <> $16 AND (priority, position, ordinal) >= (head.priority, head.position, head.ordinal) AND priority <= head.last AND position >= head.low
  ORDER BY priority, position, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $33 AND timed = head.timed AND due_at <= CAST($25 AS BIGINT) AND due_at >= $34 AND source_partition_key <> $16 AND (timed <> 1 OR partition_ownership_timeout <= CAST($25 AS BIGINT) AND lost_leases + 1 < coalesce(max_lost_leases, $26))
  ORDER BY priority, CASE timed WHEN 1 THEN partition_ownership_timeout WHEN 2 THEN reopen_at WHEN 0 THEN ordinal END, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_1) AS free LIMIT 1), (SELECT free.key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 1 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $33 AND ready = 1 AND source_partition_key <> $16
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 2 AS timed, priority, reopen_at AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $33 AND timed = 2 AND due_at <= CAST($25 AS BIGINT) AND due_at >= $34 AND source_partition_key <> $16
  ORDER BY priority, reopen_at, ordinal LIMIT 1) AS branch_1) AS heads
  ORDER BY priority, position, ordinal) AS head
  CROSS JOIN LATERAL (SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $33 AND ready = head.ready AND source_partition_key <> $16 AND (priority, position, ordinal) >= (head.priority, head.position, head.ordinal) AND priority <= head.last AND position >= head.low
  ORDER BY priority, position, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $33 AND timed = head.timed AND due_at <= CAST($25 AS BIGINT) AND due_at >= $34 AND source_partition_key <> $16 AND (timed <> 1 OR partition_ownership_timeout <= CAST($25 AS BIGINT) AND lost_leases + 1 < coalesce(max_lost_leases, $26))
  ORDER BY priority, CASE timed WHEN 1 THEN partition_ownership_timeout WHEN 2 THEN reopen_at WHEN 0 THEN ordinal END, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_1) AS free LIMIT 1), (SELECT free.key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 2 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $33 AND ready = 2 AND source_partition_key <> $16
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT head.key, head.token, head.ready, head.timed, head.priority, head.position, head.ordinal, head.last, head.low
  FROM unnest(CAST($35 AS INTEGER[]), CAST($36 AS INTEGER[]), CAST($37 AS BIGINT[]))
  WITH ORDINALITY AS span (first, last, low, number)
  CROSS JOIN LATERAL (SELECT source_partition_key AS key, token, 3 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, span.last, span.low
  FROM coordination_partitions
  WHERE source_identifier = $33 AND ready = 3 AND (priority, position) >= (span.first, span.low) AND priority <= span.last AND position >= span.low AND source_partition_key <> $16
  ORDER BY priority, position, ordinal LIMIT 1) AS head) AS branch_1
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 0 AS timed, priority, ordinal AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $33 AND timed = 0 AND due_at <= CAST($25 AS BIGINT) AND due_at >= $34 AND source_partition_key <> $16
  ORDER BY priority, ordinal, ordinal LIMIT 1) AS branch_2) AS heads
  ORDER BY priority, position, ordinal) AS head
  CROSS JOIN LATERAL (SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $33 AND ready = head.ready AND source_partition_key <> $16 AND (priority, position, ordinal) >= (head.priority, head.position, head.ordinal) AND priority <= head.last AND position >= head.low
  ORDER BY priority, position, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $33 AND timed = head.timed AND due_at <= CAST($25 AS BIGINT) AND due_at >= $34 AND source_partition_key <> $16 AND (timed <> 1 OR partition_ownership_timeout <= CAST($25 AS BIGINT) AND lost_leases + 1 < coalesce(max_lost_leases, $26))
  ORDER BY priority, CASE timed WHEN 1 THEN partition_ownership_timeout WHEN 2 THEN reopen_at WHEN 0 THEN ordinal END, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_1) AS free LIMIT 1), (SELECT free.key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT head.key, head.token, head.ready, head.timed, head.priority, head.position, head.ordinal, head.last, head.low
  FROM unnest(CAST($38 AS INTEGER[]), CAST($39 AS INTEGER[]), CAST($40 AS BIGINT[]))
  WITH ORDINALITY AS span (first, last, low, number)
  CROSS JOIN LATERAL (SELECT source_partition_key AS key, token, 3 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, span.last, span.low
  FROM coordination_partitions
  WHERE source_identifier = $33 AND ready = 3 AND (priority, position) >= (span.first, span.low) AND priority <= span.last AND position >= span.low AND source_partition_key <> $16
  ORDER BY priority, position, ordinal LIMIT 1) AS head) AS branch_0) AS heads
  ORDER BY priority, position, ordinal) AS head
  CROSS JOIN LATERAL (SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $33 AND ready = head.ready AND source_partition_key <> $16 AND (priority, position, ordinal) >= (head.priority, head.position, head.ordinal) AND priority <= head.last AND position >= head.low
  ORDER BY priority, position, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $33 AND timed = head.timed AND due_at <= CAST($25 AS BIGINT) AND due_at >= $34 AND source_partition_key <> $16 AND (timed <> 1 OR partition_ownership_timeout <= CAST($25 AS BIGINT) AND lost_leases + 1 < coalesce(max_lost_leases, $26))
  ORDER BY priority, CASE timed WHEN 1 THEN partition_ownership_timeout WHEN 2 THEN reopen_at WHEN 0 THEN ordinal END, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_1) AS free LIMIT 1)) AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= CAST($25 AS BIGINT) OR source_partition_status = 'ASSIGNED' AND partition_ownership_timeout <= CAST($25 AS BIGINT) AND lost_leases + 1 < coalesce(max_lost_leases, $26)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = $33 AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7), following_beside_0 AS (INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, CAST($25 AS BIGINT), 'lost', $24, 'ASSIGNED', closed_count, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = $33 AND source_partition_key = ANY (ARRAY(SELECT source_partition_key
  FROM following)) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING)
  SELECT answer.applied, following.*
  FROM (SELECT count(*) AS applied
  FROM done) AS answer
  LEFT JOIN following ON true

## complete with a block and get the next by hint
WITH done AS (UPDATE coordination_partitions
  SET ring_1 = $1 || CAST($2 AS BIGINT), source_partition_status = $3, closed_count = $4, reopen_at = CAST($2 AS BIGINT) + $5, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = $6, updated_at = CAST($2 AS BIGINT), failures = $7, lost_leases = $8, last_error = $9, rank = 2, available_at = CAST($2 AS BIGINT) + $10, generation = $11, staged = NULL, ready = $12, position = ordinal, timed = $13, due_at = CAST($2 AS BIGINT) + $14
  WHERE source_identifier = $15 AND source_partition_key = $16 AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = $17 AND nonce = $18 AND last_op = $19
  RETURNING source_partition_key), done_beside_0 AS (INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, CAST($2 AS BIGINT), $20, $6, $3, $4, $21, $22, $23, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = $15 AND source_partition_key = ANY (ARRAY(SELECT source_partition_key
  FROM done)) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING), done_beside_1 AS (UPDATE coordination_sources
  SET failing_error = NULL, failing_marks = NULL, failing_since_op = NULL
  WHERE source_identifier = $15 AND failing_error IS NOT NULL AND EXISTS (SELECT 1
  FROM done)), done_beside_2 AS (INSERT INTO coordination_heads (source_identifier, dataset, source_partition_key, blocks, row_count, byte_count, generation, op, token, kind, state, accounting, published_at)
  SELECT head.source_identifier, head.dataset, head.source_partition_key, head.blocks, head.row_count, head.byte_count, head.generation, head.op, head.token, head.kind, head.state, head.accounting, CAST($2 AS BIGINT)
  FROM done
  CROSS JOIN unnest(CAST($24 AS TEXT[]), CAST($25 AS TEXT[]), CAST($26 AS TEXT[]), CAST($27 AS TEXT[]), CAST($28 AS BIGINT[]), CAST($29 AS BIGINT[]), CAST($30 AS TEXT[]), CAST($31 AS TEXT[]), CAST($32 AS BIGINT[]), CAST($33 AS TEXT[]), CAST($34 AS TEXT[]), CAST($35 AS TEXT[])) AS head (source_identifier, dataset, source_partition_key, blocks, row_count, byte_count, generation, op, token, kind, state, accounting)
  ON CONFLICT (source_identifier, dataset, source_partition_key) DO UPDATE
  SET blocks = excluded.blocks, row_count = excluded.row_count, byte_count = excluded.byte_count, generation = excluded.generation, op = excluded.op, token = excluded.token, kind = excluded.kind, state = excluded.state, accounting = excluded.accounting, published_at = excluded.published_at), following AS (UPDATE coordination_partitions
  SET ring_0 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 0 THEN token || '|' || nonce || '|lost|' || $36 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($37 AS BIGINT) ELSE ring_0 END, ring_1 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 1 THEN token || '|' || nonce || '|lost|' || $36 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($37 AS BIGINT) ELSE ring_1 END, ring_2 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 2 THEN token || '|' || nonce || '|lost|' || $36 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($37 AS BIGINT) ELSE ring_2 END, ring_3 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 3 THEN token || '|' || nonce || '|lost|' || $36 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($37 AS BIGINT) ELSE ring_3 END, ring_4 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 4 THEN token || '|' || nonce || '|lost|' || $36 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($37 AS BIGINT) ELSE ring_4 END, ring_5 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 5 THEN token || '|' || nonce || '|lost|' || $36 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($37 AS BIGINT) ELSE ring_5 END, ring_6 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 6 THEN token || '|' || nonce || '|lost|' || $36 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($37 AS BIGINT) ELSE ring_6 END, ring_7 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 7 THEN token || '|' || nonce || '|lost|' || $36 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($37 AS BIGINT) ELSE ring_7 END, lost_leases = lost_leases + CASE WHEN source_partition_status = 'ASSIGNED' THEN CASE WHEN confirmed = 0 AND last_op = nonce THEN 0 ELSE 1 END ELSE 0 END, source_partition_status = 'ASSIGNED', token = token + 1, nonce = $36, last_op = $36, max_lost_leases = $38, max_failures = $39, partition_owner = $40, owner_task = $41, owner_try = $42, partition_ownership_timeout = CAST($37 AS BIGINT) + $43, acquired_at = CAST($37 AS BIGINT), owner_details = $44, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = CAST($37 AS BIGINT), ready = NULL, timed = 1, due_at = CAST($37 AS BIGINT) + $43
  WHERE EXISTS (SELECT 1
  FROM done) AND source_identifier = $45 AND source_partition_key = (SELECT source_partition_key
  FROM coordination_partitions
  WHERE source_identifier = $45 AND source_partition_key = $46 AND source_partition_key <> $16 FOR UPDATE SKIP LOCKED) AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= CAST($37 AS BIGINT) OR source_partition_status = 'ASSIGNED' AND partition_ownership_timeout <= CAST($37 AS BIGINT) AND lost_leases + 1 < coalesce(max_lost_leases, $38)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = $45 AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7), following_beside_0 AS (INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, CAST($37 AS BIGINT), 'lost', $36, 'ASSIGNED', closed_count, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = $45 AND source_partition_key = ANY (ARRAY(SELECT source_partition_key
  FROM following)) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING)
  SELECT answer.applied, following.*
  FROM (SELECT count(*) AS applied
  FROM done) AS answer
  LEFT JOIN following ON true

## acquire an expired lease
(as under: acquire by key)

## acquire, where something was lost
(as under: acquire by a hint that is used up)
WITH done AS (UPDATE coordination_partitions
  SET ring_0 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 0 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_0 END, ring_1 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 1 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_1 END, ring_2 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 2 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_2 END, ring_3 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 3 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_3 END, ring_4 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 4 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_4 END, ring_5 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 5 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_5 END, ring_6 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 6 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_6 END, ring_7 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 7 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_7 END, lost_leases = lost_leases + CASE WHEN source_partition_status = 'ASSIGNED' THEN CASE WHEN confirmed = 0 AND last_op = nonce THEN 0 ELSE 1 END ELSE 0 END, source_partition_status = 'ASSIGNED', token = token + 1, nonce = $1, last_op = $1, max_lost_leases = $3, max_failures = $4, partition_owner = $5, owner_task = $6, owner_try = $7, partition_ownership_timeout = CAST($2 AS BIGINT) + $8, acquired_at = CAST($2 AS BIGINT), owner_details = $9, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = CAST($2 AS BIGINT), ready = NULL, timed = 1, due_at = CAST($2 AS BIGINT) + $8
  WHERE source_identifier = $10 AND source_partition_key = coalesce((SELECT free.key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 0 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $10 AND ready = 0
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 1 AS timed, priority, partition_ownership_timeout AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $10 AND timed = 1 AND due_at <= CAST($2 AS BIGINT) AND due_at >= $11 AND partition_ownership_timeout <= CAST($2 AS BIGINT) AND lost_leases + 1 < coalesce(max_lost_leases, $3)
  ORDER BY priority, partition_ownership_timeout, ordinal LIMIT 1) AS branch_1) AS heads
  ORDER BY priority, position, ordinal) AS head
  CROSS JOIN LATERAL (SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $10 AND ready = head.ready AND (priority, position, ordinal) >= (head.priority, head.position, head.ordinal) AND priority <= head.last AND position >= head.low
  ORDER BY priority, position, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $10 AND timed = head.timed AND due_at <= CAST($2 AS BIGINT) AND due_at >= $11 AND (timed <> 1 OR partition_ownership_timeout <= CAST($2 AS BIGINT) AND lost_leases + 1 < coalesce(max_lost_leases, $3))
  ORDER BY priority, CASE timed WHEN 1 THEN partition_ownership_timeout WHEN 2 THEN reopen_at WHEN 0 THEN ordinal END, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_1) AS free LIMIT 1), (SELECT free.key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 1 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $10 AND ready = 1
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 2 AS timed, priority, reopen_at AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $10 AND timed = 2 AND due_at <= CAST($2 AS BIGINT) AND due_at >= $11
  ORDER BY priority, reopen_at, ordinal LIMIT 1) AS branch_1) AS heads
  ORDER BY priority, position, ordinal) AS head
  CROSS JOIN LATERAL (SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $10 AND ready = head.ready AND (priority, position, ordinal) >= (head.priority, head.position, head.ordinal) AND priority <= head.last AND position >= head.low
  ORDER BY priority, position, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $10 AND timed = head.timed AND due_at <= CAST($2 AS BIGINT) AND due_at >= $11 AND (timed <> 1 OR partition_ownership_timeout <= CAST($2 AS BIGINT) AND lost_leases + 1 < coalesce(max_lost_leases, $3))
  ORDER BY priority, CASE timed WHEN 1 THEN partition_ownership_timeout WHEN 2 THEN reopen_at WHEN 0 THEN ordinal END, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_1) AS free LIMIT 1), (SELECT free.key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 2 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $10 AND ready = 2
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT head.key, head.token, head.ready, head.timed, head.priority, head.position, head.ordinal, head.last, head.low
  FROM unnest(CAST($12 AS INTEGER[]), CAST($13 AS INTEGER[]), CAST($14 AS BIGINT[]))
  WITH ORDINALITY AS span (first, last, low, number)
  CROSS JOIN LATERAL (SELECT source_partition_key AS key, token, 3 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, span.last, span.low
  FROM coordination_partitions
  WHERE source_identifier = $10 AND ready = 3 AND (priority, position) >= (span.first, span.low) AND priority <= span.last AND position >= span.low
  ORDER BY priority, position, ordinal LIMIT 1) AS head) AS branch_1
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 0 AS timed, priority, ordinal AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $10 AND timed = 0 AND due_at <= CAST($2 AS BIGINT) AND due_at >= $11
  ORDER BY priority, ordinal, ordinal LIMIT 1) AS branch_2) AS heads
  ORDER BY priority, position, ordinal) AS head
  CROSS JOIN LATERAL (SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $10 AND ready = head.ready AND (priority, position, ordinal) >= (head.priority, head.position, head.ordinal) AND priority <= head.last AND position >= head.low
  ORDER BY priority, position, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $10 AND timed = head.timed AND due_at <= CAST($2 AS BIGINT) AND due_at >= $11 AND (timed <> 1 OR partition_ownership_timeout <= CAST($2 AS BIGINT) AND lost_leases + 1 < coalesce(max_lost_leases, $3))
  ORDER BY priority, CASE timed WHEN 1 THEN partition_ownership_timeout WHEN 2 THEN reopen_at WHEN 0 THEN ordinal END, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_1) AS free LIMIT 1), (SELECT free.key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT head.key, head.token, head.ready, head.timed, head.priority, head.position, head.ordinal, head.last, head.low
  FROM unnest(CAST($15 AS INTEGER[]), CAST($16 AS INTEGER[]), CAST($17 AS BIGINT[]))
  WITH ORDINALITY AS span (first, last, low, number)
  CROSS JOIN LATERAL (SELECT source_partition_key AS key, token, 3 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, span.last, span.low
  FROM coordination_partitions
  WHERE source_identifier = $10 AND ready = 3 AND (priority, position) >= (span.first, span.low) AND priority <= span.last AND position >= span.low
  ORDER BY priority, position, ordinal LIMIT 1) AS head) AS branch_0) AS heads
  ORDER BY priority, position, ordinal) AS head
  CROSS JOIN LATERAL (SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $10 AND ready = head.ready AND (priority, position, ordinal) >= (head.priority, head.position, head.ordinal) AND priority <= head.last AND position >= head.low
  ORDER BY priority, position, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $10 AND timed = head.timed AND due_at <= CAST($2 AS BIGINT) AND due_at >= $11 AND (timed <> 1 OR partition_ownership_timeout <= CAST($2 AS BIGINT) AND lost_leases + 1 < coalesce(max_lost_leases, $3))
  ORDER BY priority, CASE timed WHEN 1 THEN partition_ownership_timeout WHEN 2 THEN reopen_at WHEN 0 THEN ordinal END, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_1) AS free LIMIT 1)) AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= CAST($2 AS BIGINT) OR source_partition_status = 'ASSIGNED' AND partition_ownership_timeout <= CAST($2 AS BIGINT) AND lost_leases + 1 < coalesce(max_lost_leases, $3)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = $10 AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7), done_beside_0 AS (INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, CAST($2 AS BIGINT), 'lost', $1, 'ASSIGNED', closed_count, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = $10 AND source_partition_key = ANY (ARRAY(SELECT source_partition_key
  FROM done)) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING)
  SELECT *
  FROM done

## renew a lease that was taken over
(as under: renew)
(as under: acquire by a hint that is used up)

## sweep
UPDATE coordination_partitions
  SET source_partition_status = 'UNASSIGNED', rank = 1, available_at = reopen_at, reopen_at = NULL, last_op = $1, updated_at = CAST($2 AS BIGINT), ready = 1, timed = NULL, due_at = NULL, position = reopen_at
  WHERE source_identifier = $3 AND source_partition_key = ANY (ARRAY (SELECT source_partition_key
  FROM coordination_partitions
  WHERE source_identifier = $3 AND timed = 2 AND due_at <= CAST($2 AS BIGINT) AND due_at >= $4
  ORDER BY due_at LIMIT $5 FOR UPDATE SKIP LOCKED)) AND source_partition_status = 'CLOSED' AND reopen_at <= CAST($2 AS BIGINT)
  RETURNING 1
WITH done AS (UPDATE coordination_partitions
  SET ring_0 = CASE WHEN (token & 7) = 0 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|' || CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, $2) OR confirmed = 0 AND last_op = nonce) THEN 'UNASSIGNED' ELSE 'CLOSED' END || '|' || closed_count || '|' || CAST($3 AS BIGINT) ELSE ring_0 END, ring_1 = CASE WHEN (token & 7) = 1 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|' || CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, $2) OR confirmed = 0 AND last_op = nonce) THEN 'UNASSIGNED' ELSE 'CLOSED' END || '|' || closed_count || '|' || CAST($3 AS BIGINT) ELSE ring_1 END, ring_2 = CASE WHEN (token & 7) = 2 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|' || CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, $2) OR confirmed = 0 AND last_op = nonce) THEN 'UNASSIGNED' ELSE 'CLOSED' END || '|' || closed_count || '|' || CAST($3 AS BIGINT) ELSE ring_2 END, ring_3 = CASE WHEN (token & 7) = 3 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|' || CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, $2) OR confirmed = 0 AND last_op = nonce) THEN 'UNASSIGNED' ELSE 'CLOSED' END || '|' || closed_count || '|' || CAST($3 AS BIGINT) ELSE ring_3 END, ring_4 = CASE WHEN (token & 7) = 4 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|' || CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, $2) OR confirmed = 0 AND last_op = nonce) THEN 'UNASSIGNED' ELSE 'CLOSED' END || '|' || closed_count || '|' || CAST($3 AS BIGINT) ELSE ring_4 END, ring_5 = CASE WHEN (token & 7) = 5 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|' || CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, $2) OR confirmed = 0 AND last_op = nonce) THEN 'UNASSIGNED' ELSE 'CLOSED' END || '|' || closed_count || '|' || CAST($3 AS BIGINT) ELSE ring_5 END, ring_6 = CASE WHEN (token & 7) = 6 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|' || CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, $2) OR confirmed = 0 AND last_op = nonce) THEN 'UNASSIGNED' ELSE 'CLOSED' END || '|' || closed_count || '|' || CAST($3 AS BIGINT) ELSE ring_6 END, ring_7 = CASE WHEN (token & 7) = 7 THEN token || '|' || nonce || '|lost|' || $1 || '|' || last_op || '|' || CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, $2) OR confirmed = 0 AND last_op = nonce) THEN 'UNASSIGNED' ELSE 'CLOSED' END || '|' || closed_count || '|' || CAST($3 AS BIGINT) ELSE ring_7 END, source_partition_status = CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, $2) OR confirmed = 0 AND last_op = nonce) THEN 'UNASSIGNED' ELSE 'CLOSED' END, reopen_at = NULL, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = $1, updated_at = CAST($3 AS BIGINT), lost_leases = lost_leases + CASE WHEN confirmed = 0 AND last_op = nonce THEN 0 ELSE 1 END, last_error = CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, $2) OR confirmed = 0 AND last_op = nonce) THEN last_error ELSE 'lost its lease ' || (lost_leases + 1) || ' times without an ending' END, rank = CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, $2) OR confirmed = 0 AND last_op = nonce) THEN 0 ELSE rank END, available_at = CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, $2) OR confirmed = 0 AND last_op = nonce) THEN partition_ownership_timeout ELSE NULL END, ready = CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, $2) OR confirmed = 0 AND last_op = nonce) THEN 0 ELSE NULL END, timed = NULL, due_at = NULL, position = CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, $2) OR confirmed = 0 AND last_op = nonce) THEN partition_ownership_timeout ELSE position END
  WHERE source_identifier = $4 AND source_partition_key = ANY (ARRAY (SELECT source_partition_key
  FROM coordination_partitions
  WHERE source_identifier = $4 AND timed = 1 AND due_at <= CAST($3 AS BIGINT) AND partition_ownership_timeout <= CAST($3 AS BIGINT) AND due_at >= $5
  ORDER BY due_at LIMIT $6 FOR UPDATE SKIP LOCKED)) AND source_partition_status = 'ASSIGNED' AND partition_ownership_timeout <= CAST($3 AS BIGINT)
  RETURNING source_partition_key, source_partition_status), done_beside_0 AS (INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, CAST($3 AS BIGINT), 'lost', $1, CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, $2) OR confirmed = 0 AND last_op = nonce) THEN 'UNASSIGNED' ELSE 'CLOSED' END, closed_count, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = $4 AND source_partition_key = ANY (ARRAY(SELECT source_partition_key
  FROM done)) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING)
  SELECT *
  FROM done
UPDATE coordination_partitions
  SET ready = 2, position = ordinal, timed = NULL, due_at = NULL
  WHERE source_identifier = $1 AND source_partition_key = ANY (ARRAY (SELECT source_partition_key
  FROM coordination_partitions
  WHERE source_identifier = $1 AND timed = 0 AND due_at <= CAST($2 AS BIGINT) AND due_at >= $3
  ORDER BY due_at LIMIT $4 FOR UPDATE SKIP LOCKED)) AND (timed = 0 AND due_at <= CAST($2 AS BIGINT)) IS TRUE
SELECT source_partition_key
  FROM coordination_partitions
  WHERE source_identifier = $1 AND awaited_op IS NOT NULL AND source_partition_status = 'COMPLETED'
  ORDER BY source_partition_key LIMIT $2
DELETE
  FROM coordination_history
  WHERE ctid = ANY (ARRAY(SELECT ctid
  FROM coordination_history
  WHERE source_identifier = $1 AND ended_at < CAST($2 AS BIGINT) - $3
  ORDER BY ended_at LIMIT $4))
  RETURNING 1

## release
(as under: acquire by a hint that is used up)
WITH done AS (UPDATE coordination_partitions
  SET ring_0 = CASE WHEN (token & 7) = 0 THEN token || '|' || nonce || '|released|' || $1 || '|' || last_op || '|UNASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_0 END, ring_1 = CASE WHEN (token & 7) = 1 THEN token || '|' || nonce || '|released|' || $1 || '|' || last_op || '|UNASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_1 END, ring_2 = CASE WHEN (token & 7) = 2 THEN token || '|' || nonce || '|released|' || $1 || '|' || last_op || '|UNASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_2 END, ring_3 = CASE WHEN (token & 7) = 3 THEN token || '|' || nonce || '|released|' || $1 || '|' || last_op || '|UNASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_3 END, ring_4 = CASE WHEN (token & 7) = 4 THEN token || '|' || nonce || '|released|' || $1 || '|' || last_op || '|UNASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_4 END, ring_5 = CASE WHEN (token & 7) = 5 THEN token || '|' || nonce || '|released|' || $1 || '|' || last_op || '|UNASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_5 END, ring_6 = CASE WHEN (token & 7) = 6 THEN token || '|' || nonce || '|released|' || $1 || '|' || last_op || '|UNASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_6 END, ring_7 = CASE WHEN (token & 7) = 7 THEN token || '|' || nonce || '|released|' || $1 || '|' || last_op || '|UNASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_7 END, source_partition_status = 'UNASSIGNED', reopen_at = NULL, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = $1, updated_at = CAST($2 AS BIGINT), token = token + 1, nonce = $1, available_at = CASE WHEN waits_for IS NULL THEN CAST($2 AS BIGINT) ELSE NULL END, rank = 2, ready = CASE WHEN waits_for IS NULL THEN 2 ELSE NULL END, timed = NULL, due_at = NULL, position = CASE WHEN waits_for IS NULL THEN ordinal ELSE position END
  WHERE source_identifier = $3 AND source_partition_key = $4 AND deleted = 0 AND source_partition_status = 'ASSIGNED' AND token = $5 AND nonce = $6
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7), done_beside_0 AS (INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, CAST($2 AS BIGINT), 'released', $1, 'UNASSIGNED', closed_count, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = $3 AND source_partition_key = ANY (ARRAY(SELECT source_partition_key
  FROM done)) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING), done_beside_1 AS (INSERT INTO coordination_audit (source_identifier, source_partition_key, at, action, acted_by, why, op)
  SELECT $3, $4, CAST($2 AS BIGINT), $7, $8, $9, $1
  FROM done)
  SELECT *
  FROM done

## park
(as under: acquire by a hint that is used up)
WITH done AS (UPDATE coordination_partitions
  SET source_partition_status = 'CLOSED', reopen_at = NULL, available_at = NULL, last_op = $1, updated_at = CAST($2 AS BIGINT), ready = NULL, timed = NULL, due_at = NULL
  WHERE source_identifier = $3 AND source_partition_key = $4 AND deleted = 0 AND source_partition_status = $5 AND token = $6 AND last_op = $7
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7), done_beside_0 AS (INSERT INTO coordination_audit (source_identifier, source_partition_key, at, action, acted_by, why, op)
  SELECT $3, $4, CAST($2 AS BIGINT), $8, $9, $10, $1
  FROM done)
  SELECT *
  FROM done

## reopen
(as under: acquire by a hint that is used up)
WITH done AS (UPDATE coordination_partitions
  SET source_partition_status = 'UNASSIGNED', reopen_at = NULL, available_at = CASE WHEN waits_for IS NULL THEN CAST($1 AS BIGINT) ELSE NULL END, rank = 1, failures = 0, lost_leases = 0, last_op = $2, updated_at = CAST($1 AS BIGINT), ready = CASE WHEN waits_for IS NULL THEN 1 ELSE NULL END, timed = NULL, due_at = NULL, position = CASE WHEN waits_for IS NULL THEN CAST($1 AS BIGINT) ELSE position END
  WHERE source_identifier = $3 AND source_partition_key = $4 AND deleted = 0 AND source_partition_status = $5 AND token = $6 AND last_op = $7
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7), done_beside_0 AS (INSERT INTO coordination_audit (source_identifier, source_partition_key, at, action, acted_by, why, op)
  SELECT $3, $4, CAST($1 AS BIGINT), $8, $9, $10, $2
  FROM done)
  SELECT *
  FROM done

## reset
(as under: acquire by a hint that is used up)
SELECT source_identifier, source_partition_key, token, op, follow_up, noted_at
  FROM coordination_follow_ups
  WHERE source_identifier = $1 AND source_partition_key = $2
  ORDER BY source_partition_key, token, op LIMIT $3
WITH done AS (UPDATE coordination_partitions
  SET source_partition_status = 'UNASSIGNED', reopen_at = NULL, available_at = CASE WHEN waits_for IS NULL THEN CAST($1 AS BIGINT) ELSE NULL END, rank = 2, failures = 0, lost_leases = 0, closed_count = 0, last_error = NULL, partition_progress_state = NULL, staged = NULL, generation = $2, last_op = $2, updated_at = CAST($1 AS BIGINT), ready = CASE WHEN waits_for IS NULL THEN 2 ELSE NULL END, timed = NULL, due_at = NULL, position = CASE WHEN waits_for IS NULL THEN ordinal ELSE position END
  WHERE source_identifier = $3 AND source_partition_key = $4 AND deleted = 0 AND source_partition_status = $5 AND token = $6 AND last_op = $7
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7), done_beside_0 AS (INSERT INTO coordination_audit (source_identifier, source_partition_key, at, action, acted_by, why, op)
  SELECT $3, $4, CAST($1 AS BIGINT), $8, $9, $10, $2
  FROM done)
  SELECT *
  FROM done

## retract
(as under: acquire by a hint that is used up)
WITH done AS (UPDATE coordination_partitions
  SET last_op = $1, updated_at = CAST($2 AS BIGINT)
  WHERE source_identifier = $3 AND source_partition_key = $4 AND deleted = 0 AND source_partition_status = $5 AND token = $6 AND last_op = $7 AND staged IS NULL
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7), done_beside_0 AS (INSERT INTO coordination_audit (source_identifier, source_partition_key, at, action, acted_by, why, op)
  SELECT $3, $4, CAST($2 AS BIGINT), $8, $9, $10, $1
  FROM done), done_beside_1 AS (UPDATE coordination_heads
  SET blocks = '[]', row_count = 0, byte_count = 0, published_at = CAST($2 AS BIGINT), accounting = NULL
  WHERE source_identifier = $3 AND source_partition_key = $4 AND EXISTS (SELECT 1
  FROM done))
  SELECT *
  FROM done

## delete
(as under: acquire by a hint that is used up)
(as under: reset)
WITH done AS (UPDATE coordination_partitions
  SET token = token + 1, nonce = $1, source_partition_status = 'UNASSIGNED', reopen_at = NULL, available_at = NULL, deleted = 1, partition_progress_state = NULL, staged = NULL, payload = NULL, parents = NULL, waits_for = NULL, awaited_op = NULL, last_op = $1, updated_at = CAST($2 AS BIGINT), ready = NULL, timed = NULL, due_at = NULL
  WHERE source_identifier = $3 AND source_partition_key = $4 AND deleted = 0 AND source_partition_status = $5 AND token = $6 AND last_op = $7 AND awaited_op IS NULL
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7), done_beside_0 AS (INSERT INTO coordination_audit (source_identifier, source_partition_key, at, action, acted_by, why, op)
  SELECT $3, $4, CAST($2 AS BIGINT), $8, $9, $10, $1
  FROM done)
  SELECT *
  FROM done

## create a deleted partition again
(as under: create partitions)

## get
(as under: acquire by a hint that is used up)

## find by nonce
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = $1 AND timed = 1 AND nonce = $2

## find by task
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = $1 AND timed = 1 AND owner_task = $2
  ORDER BY source_partition_key

## page
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = $1 AND source_partition_key > $2 AND deleted = 0
  ORDER BY source_partition_key LIMIT $3

## page of UNASSIGNED
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = $1 AND source_partition_key > $2 AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'UNASSIGNED'
  ORDER BY source_partition_key LIMIT $3

## page of ASSIGNED
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = $1 AND source_partition_key > $2 AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'ASSIGNED'
  ORDER BY source_partition_key LIMIT $3

## page of CLOSED
SELECT *
  FROM (SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = $1 AND source_partition_key > $2 AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'CLOSED'
  ORDER BY source_partition_key LIMIT $3) AS range_0
  UNION ALL
  SELECT *
  FROM (SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = $1 AND source_partition_key > $2 AND deleted = 0 AND source_partition_status = 'CLOSED' AND reopen_at IS NULL
  ORDER BY source_partition_key LIMIT $3) AS range_1
  ORDER BY source_partition_key LIMIT $3

## page of COMPLETED
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = $1 AND source_partition_key > $2 AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'COMPLETED'
  ORDER BY source_partition_key LIMIT $3

## page of parked
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = $1 AND source_partition_key > $2 AND deleted = 0 AND source_partition_status = 'CLOSED' AND reopen_at IS NULL
  ORDER BY source_partition_key LIMIT $3

## page of CLOSED
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = $1 AND source_partition_key > $2 AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'CLOSED'
  ORDER BY source_partition_key LIMIT $3

## counts
SELECT (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = $1 AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'UNASSIGNED'), (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = $1 AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'ASSIGNED'), (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = $1 AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'CLOSED') + (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = $1 AND deleted = 0 AND source_partition_status = 'CLOSED' AND reopen_at IS NULL), (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = $1 AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'COMPLETED')

## outlook
WITH numbers AS MATERIALIZED (SELECT (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = $1 AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'UNASSIGNED') AS unassigned, (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = $1 AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'ASSIGNED') AS assigned, (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = $1 AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'CLOSED') AS closed, (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = $1 AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'COMPLETED') AS completed, (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = $1 AND deleted = 0 AND source_partition_status = 'CLOSED' AND reopen_at IS NULL) AS parked, (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = $1 AND waits_for IS NOT NULL AND source_partition_status = 'UNASSIGNED') AS blocked, (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = $1 AND timed = 0) AS delayed, (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = $1 AND timed = 0 AND due_at <= CAST($2 AS BIGINT) AND due_at >= $3) AS due_delayed, (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = $1 AND timed = 2 AND due_at <= CAST($2 AS BIGINT) AND due_at >= $3) AS due_closed, expired, expired_since
  FROM (SELECT count(*) AS expired, min(partition_ownership_timeout) AS expired_since
  FROM coordination_partitions
  WHERE source_identifier = $1 AND timed = 1 AND due_at <= CAST($2 AS BIGINT) AND due_at >= $3 AND partition_ownership_timeout <= CAST($2 AS BIGINT)) AS ended)
  SELECT unassigned - blocked - delayed + due_delayed + due_closed + expired, assigned - expired, delayed - due_delayed + closed - due_closed, parked, completed, (SELECT min(due)
  FROM (SELECT min(due_at) AS due
  FROM coordination_partitions
  WHERE source_identifier = $1 AND timed = 0 AND due_at > CAST($2 AS BIGINT)
  UNION ALL
  SELECT min(due_at) AS due
  FROM coordination_partitions
  WHERE source_identifier = $1 AND timed = 2 AND due_at > CAST($2 AS BIGINT)
  UNION ALL
  SELECT min(partition_ownership_timeout)
  FROM coordination_partitions
  WHERE source_identifier = $1 AND timed = 1 AND due_at <= CAST($2 AS BIGINT) AND due_at >= $3 AND partition_ownership_timeout > CAST($2 AS BIGINT)
  UNION ALL
  SELECT min(ends)
  FROM (SELECT partition_ownership_timeout AS ends
  FROM coordination_partitions
  WHERE source_identifier = $1 AND timed = 1 AND due_at > CAST($2 AS BIGINT)
  ORDER BY due_at LIMIT 100) AS first_held
  UNION ALL
  SELECT *
  FROM (SELECT due_at
  FROM coordination_partitions
  WHERE source_identifier = $1 AND timed = 1 AND due_at > CAST($2 AS BIGINT)
  ORDER BY due_at LIMIT 1 OFFSET 99) AS last_held) AS times), due_closed + expired, CAST($2 AS BIGINT) - (SELECT min(since)
  FROM (SELECT *
  FROM (SELECT available_at AS since
  FROM coordination_partitions
  WHERE source_identifier = $1 AND ready = 0
  ORDER BY priority, position, ordinal LIMIT 25) AS ready_0
  UNION ALL
  SELECT *
  FROM (SELECT available_at AS since
  FROM coordination_partitions
  WHERE source_identifier = $1 AND ready = 1
  ORDER BY priority, position, ordinal LIMIT 25) AS ready_1
  UNION ALL
  SELECT *
  FROM (SELECT available_at AS since
  FROM coordination_partitions
  WHERE source_identifier = $1 AND ready = 2
  ORDER BY priority, position, ordinal LIMIT 25) AS ready_2
  UNION ALL
  SELECT *
  FROM (SELECT since
  FROM unnest(CAST($4 AS INTEGER[]), CAST($5 AS INTEGER[]), CAST($6 AS BIGINT[]))
  WITH ORDINALITY AS span (first, last, low, number)
  CROSS JOIN LATERAL (SELECT available_at AS since
  FROM coordination_partitions
  WHERE source_identifier = $1 AND ready = 3 AND (priority, position) >= (span.first, span.low) AND priority <= span.last AND position >= span.low
  ORDER BY priority, position, ordinal LIMIT 25) AS fresh LIMIT 25) AS ready_3
  UNION ALL
  SELECT min(due_at)
  FROM coordination_partitions
  WHERE source_identifier = $1 AND timed = 0 AND due_at <= CAST($2 AS BIGINT) AND due_at >= $3
  UNION ALL
  SELECT min(due_at)
  FROM coordination_partitions
  WHERE source_identifier = $1 AND timed = 2 AND due_at <= CAST($2 AS BIGINT) AND due_at >= $3
  UNION ALL
  SELECT expired_since) AS claimable), blocked, expired, paused, pause_by, pause_why, pause_at, pause_op, CASE WHEN failing_since_op = coalesce(pause_op, '') THEN failing_error END, failing_marks
  FROM numbers
  LEFT JOIN coordination_sources ON source_identifier = $1

## heads
SELECT source_identifier, dataset, source_partition_key, blocks, row_count, byte_count, generation, op, token, kind, state, accounting, published_at
  FROM coordination_heads
  WHERE source_identifier = $1 AND source_partition_key > $2
  ORDER BY source_partition_key, dataset LIMIT $3

## heads of one
SELECT source_identifier, dataset, source_partition_key, blocks, row_count, byte_count, generation, op, token, kind, state, accounting, published_at
  FROM coordination_heads
  WHERE source_identifier = $1 AND source_partition_key > $2 AND dataset = $3 AND source_partition_key = $4
  ORDER BY source_partition_key, dataset LIMIT $5

## heads from inside one
SELECT source_identifier, dataset, source_partition_key, blocks, row_count, byte_count, generation, op, token, kind, state, accounting, published_at
  FROM coordination_heads
  WHERE source_identifier = $1 AND source_partition_key >= $2 AND (source_partition_key > $2 OR dataset > $3)
  ORDER BY source_partition_key, dataset LIMIT $4

## audit
SELECT source_partition_key, at, action, acted_by, why
  FROM coordination_audit
  WHERE source_identifier = $1 AND source_partition_key = $2
  ORDER BY number

## sources
SELECT source_identifier, facts
  FROM coordination_sources
  ORDER BY source_identifier

## save, with its accounting
UPDATE coordination_partitions
  SET partition_ownership_timeout = CASE WHEN partition_ownership_timeout > CAST($1 AS BIGINT) + $2 THEN partition_ownership_timeout ELSE CAST($1 AS BIGINT) + $2 END, last_op = $3, updated_at = CAST($1 AS BIGINT), partition_progress_state = $4, staged = $5, accounting = $6, due_at = CASE WHEN due_at < CAST($1 AS BIGINT) + $7 THEN CASE WHEN partition_ownership_timeout > CAST($1 AS BIGINT) + $2 THEN partition_ownership_timeout ELSE CAST($1 AS BIGINT) + $2 END ELSE due_at END
  WHERE source_identifier = $8 AND source_partition_key = $9 AND source_partition_status = 'ASSIGNED' AND token = $10 AND nonce = $11 AND last_op = $12
  RETURNING partition_ownership_timeout, CASE WHEN wanted_token = token THEN wanted_by END

## complete with a block and its accounting
WITH done AS (UPDATE coordination_partitions
  SET ring_2 = $1 || CAST($2 AS BIGINT), source_partition_status = $3, closed_count = $4, reopen_at = CAST($2 AS BIGINT) + $5, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = $6, updated_at = CAST($2 AS BIGINT), failures = $7, lost_leases = $8, last_error = $9, rank = 2, available_at = CAST($2 AS BIGINT) + $10, generation = $11, accounting = $12, staged = NULL, ready = $13, position = ordinal, timed = $14, due_at = CAST($2 AS BIGINT) + $15
  WHERE source_identifier = $16 AND source_partition_key = $17 AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = $18 AND nonce = $19 AND last_op = $20
  RETURNING source_partition_key), done_beside_0 AS (INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, CAST($2 AS BIGINT), $21, $6, $3, $4, $22, $23, $24, $12
  FROM coordination_partitions
  WHERE source_identifier = $16 AND source_partition_key = ANY (ARRAY(SELECT source_partition_key
  FROM done)) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING), done_beside_1 AS (UPDATE coordination_sources
  SET failing_error = NULL, failing_marks = NULL, failing_since_op = NULL
  WHERE source_identifier = $16 AND failing_error IS NOT NULL AND EXISTS (SELECT 1
  FROM done)), done_beside_2 AS (INSERT INTO coordination_heads (source_identifier, dataset, source_partition_key, blocks, row_count, byte_count, generation, op, token, kind, state, accounting, published_at)
  SELECT head.source_identifier, head.dataset, head.source_partition_key, head.blocks, head.row_count, head.byte_count, head.generation, head.op, head.token, head.kind, head.state, head.accounting, CAST($2 AS BIGINT)
  FROM done
  CROSS JOIN unnest(CAST($25 AS TEXT[]), CAST($26 AS TEXT[]), CAST($27 AS TEXT[]), CAST($28 AS TEXT[]), CAST($29 AS BIGINT[]), CAST($30 AS BIGINT[]), CAST($31 AS TEXT[]), CAST($32 AS TEXT[]), CAST($33 AS BIGINT[]), CAST($34 AS TEXT[]), CAST($35 AS TEXT[]), CAST($36 AS TEXT[])) AS head (source_identifier, dataset, source_partition_key, blocks, row_count, byte_count, generation, op, token, kind, state, accounting)
  ON CONFLICT (source_identifier, dataset, source_partition_key) DO UPDATE
  SET blocks = excluded.blocks, row_count = excluded.row_count, byte_count = excluded.byte_count, generation = excluded.generation, op = excluded.op, token = excluded.token, kind = excluded.kind, state = excluded.state, accounting = excluded.accounting, published_at = excluded.published_at)
  SELECT *
  FROM done

## complete, and note what follows
WITH done AS (UPDATE coordination_partitions
  SET ring_2 = $1 || CAST($2 AS BIGINT), source_partition_status = $3, closed_count = $4, reopen_at = CAST($2 AS BIGINT) + $5, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = $6, updated_at = CAST($2 AS BIGINT), failures = $7, lost_leases = $8, last_error = $9, rank = 2, available_at = CAST($2 AS BIGINT) + $10, generation = $11, staged = NULL, ready = $12, position = ordinal, timed = $13, due_at = CAST($2 AS BIGINT) + $14
  WHERE source_identifier = $15 AND source_partition_key = $16 AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = $17 AND nonce = $18 AND last_op = $19
  RETURNING source_partition_key), done_beside_0 AS (INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, CAST($2 AS BIGINT), $20, $6, $3, $4, $21, $22, $23, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = $15 AND source_partition_key = ANY (ARRAY(SELECT source_partition_key
  FROM done)) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING), done_beside_1 AS (UPDATE coordination_sources
  SET failing_error = NULL, failing_marks = NULL, failing_since_op = NULL
  WHERE source_identifier = $15 AND failing_error IS NOT NULL AND EXISTS (SELECT 1
  FROM done)), done_beside_2 AS (INSERT INTO coordination_follow_ups (source_identifier, source_partition_key, token, op, follow_up, noted_at)
  SELECT $15, $16, $17, $6, $24, CAST($2 AS BIGINT)
  FROM done)
  SELECT *
  FROM done

## follow-ups
SELECT source_identifier, source_partition_key, token, op, follow_up, noted_at
  FROM coordination_follow_ups
  WHERE source_identifier = $1
  ORDER BY source_partition_key, token, op LIMIT $2

## follow-ups of one, from a place on
SELECT source_identifier, source_partition_key, token, op, follow_up, noted_at
  FROM coordination_follow_ups
  WHERE source_identifier = $1 AND source_partition_key = $2 AND (source_partition_key, token, op) > ($3, $4, $5)
  ORDER BY source_partition_key, token, op LIMIT $6

## clear a follow-up
DELETE
  FROM coordination_follow_ups
  WHERE source_identifier = $1 AND source_partition_key = $2 AND token = $3 AND op = $4
  RETURNING 1

## forget a follow-up
WITH done AS (DELETE
  FROM coordination_follow_ups
  WHERE source_identifier = $1 AND source_partition_key = $2 AND token = $3 AND op = $4
  RETURNING 1), done_beside_0 AS (INSERT INTO coordination_audit (source_identifier, source_partition_key, at, action, acted_by, why, op)
  SELECT $1, $2, CAST($5 AS BIGINT), $6, $7, $8, $4
  FROM done)
  SELECT *
  FROM done

## create a partition with two parents
WITH given AS MATERIALIZED (SELECT *
  FROM unnest(CAST($1 AS TEXT[]), CAST($2 AS TEXT[]), CAST($3 AS INTEGER[]), CAST($4 AS BIGINT[]), CAST($5 AS TEXT[])) AS page (key, payload, priority, place, parents)), page AS MATERIALIZED (SELECT nextval('coordination_pages') AS number, CAST($6 AS BIGINT) AS now), absent AS MATERIALIZED (SELECT given.*
  FROM given
  LEFT JOIN coordination_partitions AS p ON p.source_identifier = $7 AND p.source_partition_key = given.key
  WHERE p.source_partition_key IS NULL OR (p.deleted = 1 AND p.create_op <> $8)), named AS MATERIALIZED (SELECT absent.key AS child, each.parent
  FROM absent
  CROSS JOIN LATERAL jsonb_array_elements_text(CAST(absent.parents AS jsonb)) AS each (parent)), locked AS MATERIALIZED (SELECT source_partition_key AS parent, source_partition_status = 'COMPLETED' AS finished
  FROM coordination_partitions
  WHERE source_identifier = $7 AND (deleted = 0 OR source_partition_status = 'COMPLETED') AND source_partition_key IN (SELECT parent
  FROM named)
  ORDER BY source_partition_key FOR UPDATE), unknown AS MATERIALIZED (SELECT child, parent
  FROM named
  WHERE parent NOT IN (SELECT parent
  FROM locked)
  ORDER BY child, parent LIMIT 1), waiting AS MATERIALIZED (SELECT child, CAST(jsonb_agg(parent) AS TEXT) AS waits_for
  FROM named JOIN locked USING (parent)
  WHERE NOT finished GROUP BY child), judged AS MATERIALIZED (SELECT absent.*, waiting.waits_for
  FROM absent
  LEFT JOIN waiting ON waiting.child = absent.key
  WHERE NOT EXISTS (SELECT 1
  FROM unknown)), made AS (INSERT INTO coordination_partitions (source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, closed_count, failures, lost_leases, available_at, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, ready, position, parents, waits_for)
  SELECT $7, given.key, 'UNASSIGNED', given.payload, given.priority, page.number * 1048576 + given.place, 2, 0, 0, 0, CASE WHEN given.waits_for IS NULL THEN page.now END, page.now, page.now, 0, '', $8, $8, $8, 0, 0, CASE WHEN given.waits_for IS NULL THEN 3 END, page.number * 1048576 + given.place, given.parents, given.waits_for
  FROM judged AS given
  CROSS JOIN page
  ORDER BY given.key COLLATE "C"
  ON CONFLICT (source_identifier, source_partition_key) DO UPDATE
  SET source_partition_status = 'UNASSIGNED', rank = 2, closed_count = 0, failures = 0, lost_leases = 0, partition_progress_state = NULL, last_error = NULL, reopen_at = NULL, partition_owner = NULL, partition_ownership_timeout = NULL, staged = NULL, max_lost_leases = NULL, max_failures = NULL, acquired_at = NULL, owner_details = NULL, accounting = NULL, awaited_op = NULL, wanted_by = NULL, wanted_token = NULL, wanted_until = NULL, last_op = $8, create_op = $8, generation = $8, confirmed = 0, deleted = 0, timed = NULL, due_at = NULL, payload = excluded.payload, priority = excluded.priority, parents = excluded.parents, waits_for = excluded.waits_for, ordinal = excluded.ordinal, position = excluded.position, available_at = excluded.available_at, created_at = excluded.created_at, updated_at = excluded.updated_at, ready = excluded.ready
  WHERE coordination_partitions.deleted = 1 AND coordination_partitions.create_op <> $8
  RETURNING source_partition_key AS child), noted AS (INSERT INTO coordination_children (source_identifier, parent_key, child_hash, child_key)
  SELECT $7, parent, encode(sha256(convert_to(child, 'UTF8')), 'hex'), child
  FROM named JOIN made USING (child)
  ON CONFLICT DO NOTHING), stamped AS (UPDATE coordination_partitions
  SET awaited_op = $8
  WHERE source_identifier = $7 AND source_partition_key = ANY (ARRAY (
  SELECT parent
  FROM locked JOIN named USING (parent) JOIN made USING (child)
  WHERE NOT finished)))
  SELECT (SELECT count(*)
  FROM made), (SELECT child
  FROM unknown), (SELECT parent
  FROM unknown)

## complete one of them
(as under: complete)
(as under: acquire by a hint that is used up)
WITH done AS (UPDATE coordination_partitions
  SET ring_1 = $1 || CAST($2 AS BIGINT), source_partition_status = $3, closed_count = $4, reopen_at = CAST($2 AS BIGINT) + $5, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = $6, updated_at = CAST($2 AS BIGINT), failures = $7, lost_leases = $8, last_error = $9, rank = 2, available_at = CAST($2 AS BIGINT) + $10, generation = $11, staged = NULL, awaited_op = NULL, ready = $12, position = ordinal, timed = $13, due_at = CAST($2 AS BIGINT) + $14
  WHERE source_identifier = $15 AND source_partition_key = $16 AND source_partition_status = 'ASSIGNED' AND token = $17 AND nonce = $18 AND last_op = $19
  RETURNING source_partition_key), done_beside_0 AS (INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, CAST($2 AS BIGINT), $20, $6, $3, $4, $21, $22, $23, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = $15 AND source_partition_key = ANY (ARRAY(SELECT source_partition_key
  FROM done)) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING), done_beside_1 AS (UPDATE coordination_sources
  SET failing_error = NULL, failing_marks = NULL, failing_since_op = NULL
  WHERE source_identifier = $15 AND failing_error IS NOT NULL AND EXISTS (SELECT 1
  FROM done))
  SELECT *
  FROM done
UPDATE coordination_partitions
  SET waits_for = nullif(CAST(CAST(waits_for AS jsonb) - CAST($1 AS TEXT) AS TEXT), '[]'), rank = 2, available_at = CASE WHEN nullif(CAST(CAST(waits_for AS jsonb) - CAST($1 AS TEXT) AS TEXT), '[]') IS NULL AND source_partition_status = 'UNASSIGNED' THEN CAST($2 AS BIGINT) ELSE available_at END, updated_at = CAST($2 AS BIGINT), ready = CASE WHEN nullif(CAST(CAST(waits_for AS jsonb) - CAST($1 AS TEXT) AS TEXT), '[]') IS NULL AND source_partition_status = 'UNASSIGNED' THEN 2 ELSE ready END, position = ordinal
  WHERE source_identifier = $3 AND source_partition_key = ANY (ARRAY (SELECT source_partition_key
  FROM coordination_partitions
  WHERE source_identifier = $3 AND source_partition_key IN (SELECT child_key
  FROM coordination_children
  WHERE source_identifier = $3 AND parent_key = $1) AND waits_for IS NOT NULL AND EXISTS (SELECT 1
  FROM coordination_partitions
  WHERE source_identifier = $3 AND source_partition_key = $1 AND source_partition_status = 'COMPLETED')
  ORDER BY source_partition_key FOR UPDATE)) AND waits_for IS NOT NULL AND jsonb_exists(CAST(waits_for AS jsonb), CAST($1 AS TEXT))
  RETURNING 1

## its children
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = $1 AND source_partition_key IN (SELECT child_key
  FROM coordination_children
  WHERE source_identifier = $1 AND parent_key = $2 AND child_key > $3) AND parents IS NOT NULL AND jsonb_exists(CAST(parents AS jsonb), CAST($2 AS TEXT))
  ORDER BY source_partition_key LIMIT $4

## complete the other one and get the next
WITH done AS (UPDATE coordination_partitions
  SET ring_1 = $1 || CAST($2 AS BIGINT), source_partition_status = $3, closed_count = $4, reopen_at = CAST($2 AS BIGINT) + $5, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = $6, updated_at = CAST($2 AS BIGINT), failures = $7, lost_leases = $8, last_error = $9, rank = 2, available_at = CAST($2 AS BIGINT) + $10, generation = $11, staged = NULL, ready = $12, position = ordinal, timed = $13, due_at = CAST($2 AS BIGINT) + $14
  WHERE source_identifier = $15 AND source_partition_key = $16 AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = $17 AND nonce = $18 AND last_op = $19
  RETURNING source_partition_key), done_beside_0 AS (INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, CAST($2 AS BIGINT), $20, $6, $3, $4, $21, $22, $23, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = $15 AND source_partition_key = ANY (ARRAY(SELECT source_partition_key
  FROM done)) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING), done_beside_1 AS (UPDATE coordination_sources
  SET failing_error = NULL, failing_marks = NULL, failing_since_op = NULL
  WHERE source_identifier = $15 AND failing_error IS NOT NULL AND EXISTS (SELECT 1
  FROM done)), following AS (UPDATE coordination_partitions
  SET ring_0 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 0 THEN token || '|' || nonce || '|lost|' || $24 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($25 AS BIGINT) ELSE ring_0 END, ring_1 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 1 THEN token || '|' || nonce || '|lost|' || $24 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($25 AS BIGINT) ELSE ring_1 END, ring_2 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 2 THEN token || '|' || nonce || '|lost|' || $24 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($25 AS BIGINT) ELSE ring_2 END, ring_3 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 3 THEN token || '|' || nonce || '|lost|' || $24 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($25 AS BIGINT) ELSE ring_3 END, ring_4 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 4 THEN token || '|' || nonce || '|lost|' || $24 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($25 AS BIGINT) ELSE ring_4 END, ring_5 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 5 THEN token || '|' || nonce || '|lost|' || $24 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($25 AS BIGINT) ELSE ring_5 END, ring_6 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 6 THEN token || '|' || nonce || '|lost|' || $24 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($25 AS BIGINT) ELSE ring_6 END, ring_7 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 7 THEN token || '|' || nonce || '|lost|' || $24 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($25 AS BIGINT) ELSE ring_7 END, lost_leases = lost_leases + CASE WHEN source_partition_status = 'ASSIGNED' THEN CASE WHEN confirmed = 0 AND last_op = nonce THEN 0 ELSE 1 END ELSE 0 END, source_partition_status = 'ASSIGNED', token = token + 1, nonce = $24, last_op = $24, max_lost_leases = $26, max_failures = $27, partition_owner = $28, owner_task = $29, owner_try = $30, partition_ownership_timeout = CAST($25 AS BIGINT) + $31, acquired_at = CAST($25 AS BIGINT), owner_details = $32, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = CAST($25 AS BIGINT), ready = NULL, timed = 1, due_at = CAST($25 AS BIGINT) + $31
  WHERE EXISTS (SELECT 1
  FROM done) AND source_identifier = $33 AND source_partition_key = coalesce((SELECT free.key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 0 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $33 AND ready = 0 AND source_partition_key <> $16
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 1 AS timed, priority, partition_ownership_timeout AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $33 AND timed = 1 AND due_at <= CAST($25 AS BIGINT) AND due_at >= $34 AND partition_ownership_timeout <= CAST($25 AS BIGINT) AND lost_leases + 1 < coalesce(max_lost_leases, $26) AND source_partition_key <> $16
  ORDER BY priority, partition_ownership_timeout, ordinal LIMIT 1) AS branch_1) AS heads
  ORDER BY priority, position, ordinal) AS head
  CROSS JOIN LATERAL (SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $33 AND ready = head.ready AND source_partition_key <> $16 AND (priority, position, ordinal) >= (head.priority, head.position, head.ordinal) AND priority <= head.last AND position >= head.low
  ORDER BY priority, position, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $33 AND timed = head.timed AND due_at <= CAST($25 AS BIGINT) AND due_at >= $34 AND source_partition_key <> $16 AND (timed <> 1 OR partition_ownership_timeout <= CAST($25 AS BIGINT) AND lost_leases + 1 < coalesce(max_lost_leases, $26))
  ORDER BY priority, CASE timed WHEN 1 THEN partition_ownership_timeout WHEN 2 THEN reopen_at WHEN 0 THEN ordinal END, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_1) AS free LIMIT 1), (SELECT free.key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 1 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $33 AND ready = 1 AND source_partition_key <> $16
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 2 AS timed, priority, reopen_at AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $33 AND timed = 2 AND due_at <= CAST($25 AS BIGINT) AND due_at >= $34 AND source_partition_key <> $16
  ORDER BY priority, reopen_at, ordinal LIMIT 1) AS branch_1) AS heads
  ORDER BY priority, position, ordinal) AS head
  CROSS JOIN LATERAL (SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $33 AND ready = head.ready AND source_partition_key <> $16 AND (priority, position, ordinal) >= (head.priority, head.position, head.ordinal) AND priority <= head.last AND position >= head.low
  ORDER BY priority, position, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $33 AND timed = head.timed AND due_at <= CAST($25 AS BIGINT) AND due_at >= $34 AND source_partition_key <> $16 AND (timed <> 1 OR partition_ownership_timeout <= CAST($25 AS BIGINT) AND lost_leases + 1 < coalesce(max_lost_leases, $26))
  ORDER BY priority, CASE timed WHEN 1 THEN partition_ownership_timeout WHEN 2 THEN reopen_at WHEN 0 THEN ordinal END, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_1) AS free LIMIT 1), (SELECT free.key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 2 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $33 AND ready = 2 AND source_partition_key <> $16
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT head.key, head.token, head.ready, head.timed, head.priority, head.position, head.ordinal, head.last, head.low
  FROM unnest(CAST($35 AS INTEGER[]), CAST($36 AS INTEGER[]), CAST($37 AS BIGINT[]))
  WITH ORDINALITY AS span (first, last, low, number)
  CROSS JOIN LATERAL (SELECT source_partition_key AS key, token, 3 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, span.last, span.low
  FROM coordination_partitions
  WHERE source_identifier = $33 AND ready = 3 AND (priority, position) >= (span.first, span.low) AND priority <= span.last AND position >= span.low AND source_partition_key <> $16
  ORDER BY priority, position, ordinal LIMIT 1) AS head) AS branch_1
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 0 AS timed, priority, ordinal AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = $33 AND timed = 0 AND due_at <= CAST($25 AS BIGINT) AND due_at >= $34 AND source_partition_key <> $16
  ORDER BY priority, ordinal, ordinal LIMIT 1) AS branch_2) AS heads
  ORDER BY priority, position, ordinal) AS head
  CROSS JOIN LATERAL (SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $33 AND ready = head.ready AND source_partition_key <> $16 AND (priority, position, ordinal) >= (head.priority, head.position, head.ordinal) AND priority <= head.last AND position >= head.low
  ORDER BY priority, position, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $33 AND timed = head.timed AND due_at <= CAST($25 AS BIGINT) AND due_at >= $34 AND source_partition_key <> $16 AND (timed <> 1 OR partition_ownership_timeout <= CAST($25 AS BIGINT) AND lost_leases + 1 < coalesce(max_lost_leases, $26))
  ORDER BY priority, CASE timed WHEN 1 THEN partition_ownership_timeout WHEN 2 THEN reopen_at WHEN 0 THEN ordinal END, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_1) AS free LIMIT 1), (SELECT free.key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT head.key, head.token, head.ready, head.timed, head.priority, head.position, head.ordinal, head.last, head.low
  FROM unnest(CAST($38 AS INTEGER[]), CAST($39 AS INTEGER[]), CAST($40 AS BIGINT[]))
  WITH ORDINALITY AS span (first, last, low, number)
  CROSS JOIN LATERAL (SELECT source_partition_key AS key, token, 3 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, span.last, span.low
  FROM coordination_partitions
  WHERE source_identifier = $33 AND ready = 3 AND (priority, position) >= (span.first, span.low) AND priority <= span.last AND position >= span.low AND source_partition_key <> $16
  ORDER BY priority, position, ordinal LIMIT 1) AS head) AS branch_0) AS heads
  ORDER BY priority, position, ordinal) AS head
  CROSS JOIN LATERAL (SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $33 AND ready = head.ready AND source_partition_key <> $16 AND (priority, position, ordinal) >= (head.priority, head.position, head.ordinal) AND priority <= head.last AND position >= head.low
  ORDER BY priority, position, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key
  FROM coordination_partitions
  WHERE source_identifier = $33 AND timed = head.timed AND due_at <= CAST($25 AS BIGINT) AND due_at >= $34 AND source_partition_key <> $16 AND (timed <> 1 OR partition_ownership_timeout <= CAST($25 AS BIGINT) AND lost_leases + 1 < coalesce(max_lost_leases, $26))
  ORDER BY priority, CASE timed WHEN 1 THEN partition_ownership_timeout WHEN 2 THEN reopen_at WHEN 0 THEN ordinal END, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED) AS branch_1) AS free LIMIT 1)) AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= CAST($25 AS BIGINT) OR source_partition_status = 'ASSIGNED' AND partition_ownership_timeout <= CAST($25 AS BIGINT) AND lost_leases + 1 < coalesce(max_lost_leases, $26)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = $33 AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7), following_beside_0 AS (INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, CAST($25 AS BIGINT), 'lost', $24, 'ASSIGNED', closed_count, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = $33 AND source_partition_key = ANY (ARRAY(SELECT source_partition_key
  FROM following)) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING)
  SELECT answer.applied, following.*
  FROM (SELECT count(*) AS applied
  FROM done) AS answer
  LEFT JOIN following ON true
(as under: acquire by a hint that is used up)
(as under: complete one of them)
(as under: complete one of them)
(as under: acquire, where something was lost)

## explain what waits
(as under: acquire by a hint that is used up)
(as under: the clock)
(as under: acquire by a hint that is used up)

## finish
(as under: acquire by a hint that is used up)
WITH done AS (UPDATE coordination_partitions
  SET source_partition_status = 'COMPLETED', reopen_at = NULL, available_at = NULL, rank = 2, failures = 0, lost_leases = 0, last_error = NULL, staged = NULL, awaited_op = NULL, last_op = $1, updated_at = CAST($2 AS BIGINT), ready = NULL, timed = NULL, due_at = NULL
  WHERE source_identifier = $3 AND source_partition_key = $4 AND awaited_op IS NULL AND deleted = 0 AND source_partition_status = $5 AND token = $6 AND last_op = $7
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7), done_beside_0 AS (INSERT INTO coordination_audit (source_identifier, source_partition_key, at, action, acted_by, why, op)
  SELECT $3, $4, CAST($2 AS BIGINT), $8, $9, $10, $1
  FROM done)
  SELECT *
  FROM done
(as under: acquire by a hint that is used up)
WITH done AS (UPDATE coordination_partitions
  SET source_partition_status = 'COMPLETED', reopen_at = NULL, available_at = NULL, rank = 2, failures = 0, lost_leases = 0, last_error = NULL, staged = NULL, awaited_op = NULL, last_op = $1, updated_at = CAST($2 AS BIGINT), ready = NULL, timed = NULL, due_at = NULL
  WHERE source_identifier = $3 AND source_partition_key = $4 AND deleted = 0 AND source_partition_status = $5 AND token = $6 AND last_op = $7
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7), done_beside_0 AS (INSERT INTO coordination_audit (source_identifier, source_partition_key, at, action, acted_by, why, op)
  SELECT $3, $4, CAST($2 AS BIGINT), $8, $9, $10, $1
  FROM done)
  SELECT *
  FROM done
(as under: complete one of them)

## clean up what the source knows no more
(as under: page of COMPLETED)
(as under: the clock)
(as under: its children)
(as under: its children)
WITH done AS (UPDATE coordination_partitions
  SET token = token + 1, nonce = $1, source_partition_status = 'COMPLETED', reopen_at = NULL, available_at = NULL, deleted = 1, partition_progress_state = NULL, staged = NULL, payload = NULL, parents = NULL, waits_for = NULL, awaited_op = NULL, last_op = $1, updated_at = CAST($2 AS BIGINT), ready = NULL, timed = NULL, due_at = NULL
  WHERE source_identifier = $3 AND source_partition_key = $4 AND deleted = 0 AND source_partition_status = $5 AND token = $6 AND last_op = $7 AND awaited_op IS NULL
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7), done_beside_0 AS (INSERT INTO coordination_audit (source_identifier, source_partition_key, at, action, acted_by, why, op)
  SELECT $3, $4, CAST($2 AS BIGINT), $8, $9, $10, $1
  FROM done)
  SELECT *
  FROM done

## create a child of what was cleaned up
(as under: create a partition with two parents)

## ask for a lease
UPDATE coordination_partitions
  SET wanted_by = $1, wanted_token = $2, wanted_until = CAST($3 AS BIGINT) + $4
  WHERE source_identifier = $5 AND source_partition_key = $6 AND source_partition_status = 'ASSIGNED' AND token = $2 AND nonce = $7 AND (wanted_token = $2 AND CAST($3 AS BIGINT) < wanted_until) IS NOT TRUE
  RETURNING 1

## hand a lease over
(as under: give up for a while)

## steal a lease
WITH done AS (UPDATE coordination_partitions
  SET ring_0 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 0 THEN token || '|' || nonce || '|stolen|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_0 END, ring_1 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 1 THEN token || '|' || nonce || '|stolen|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_1 END, ring_2 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 2 THEN token || '|' || nonce || '|stolen|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_2 END, ring_3 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 3 THEN token || '|' || nonce || '|stolen|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_3 END, ring_4 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 4 THEN token || '|' || nonce || '|stolen|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_4 END, ring_5 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 5 THEN token || '|' || nonce || '|stolen|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_5 END, ring_6 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 6 THEN token || '|' || nonce || '|stolen|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_6 END, ring_7 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 7 THEN token || '|' || nonce || '|stolen|' || $1 || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || CAST($2 AS BIGINT) ELSE ring_7 END, source_partition_status = 'ASSIGNED', token = token + 1, nonce = $1, last_op = $1, max_lost_leases = $3, max_failures = $4, partition_owner = $5, owner_task = $6, owner_try = $7, partition_ownership_timeout = CAST($2 AS BIGINT) + $8, acquired_at = CAST($2 AS BIGINT), owner_details = $9, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = CAST($2 AS BIGINT), ready = NULL, timed = 1, due_at = CAST($2 AS BIGINT) + $8
  WHERE source_identifier = $10 AND source_partition_key = $11 AND source_partition_status = 'ASSIGNED' AND token = $12 AND nonce = $13 AND CAST($2 AS BIGINT) < partition_ownership_timeout AND wanted_by = $5 AND wanted_token = $12 AND wanted_until <= CAST($2 AS BIGINT) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = $10 AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7), done_beside_0 AS (INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, CAST($2 AS BIGINT), 'stolen', $1, 'ASSIGNED', closed_count, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = $10 AND source_partition_key = ANY (ARRAY(SELECT source_partition_key
  FROM done)) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING)
  SELECT *
  FROM done
