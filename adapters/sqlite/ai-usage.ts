// Usage of AI assistance in SQLite: one row per tenant and day.

import type { AiUsageStore } from '../../src/assistant/port/usage.ts';
import { type AiDay, aiDayRecord } from '../../src/assistant/record.ts';
import type { Database } from './database.ts';
import type { Sync } from './sync.ts';
import { tableOf } from './table.ts';

export const days = tableOf<AiDay>(aiDayRecord);

export function aiUsageStore(db: Database): Sync<AiUsageStore> {
  return {
    add(tenantId, day, { inputTokens, outputTokens, cost, durationMs }) {
      db.run(
        `INSERT INTO ai_usage (tenant_id, day, queries, input_tokens, output_tokens, cost, duration_ms)
           VALUES (?, ?, 1, ?, ?, ?, ?)
           ON CONFLICT (tenant_id, day) DO UPDATE SET queries = queries + 1,
             input_tokens = input_tokens + excluded.input_tokens,
             output_tokens = output_tokens + excluded.output_tokens,
             cost = CASE WHEN excluded.cost IS NULL THEN cost ELSE ifnull(cost, 0) + excluded.cost END,
             duration_ms = duration_ms + excluded.duration_ms`,
        [tenantId, day, inputTokens, outputTokens, cost, durationMs],
      );
    },
    listDays: (tenantId, since) =>
      db
        .all(`SELECT ${days.columns} FROM ai_usage WHERE tenant_id = ? AND day >= ? ORDER BY day`, [
          tenantId,
          since,
        ])
        .map(days.read),
    removeBefore: (before) => db.run('DELETE FROM ai_usage WHERE day < ?', [before]),
  };
}
