// Assignment rules in SQLite.

import type { RuleStore } from '../../src/agent/port.ts';
import { type AssignmentRule, ruleRecord } from '../../src/agent/record.ts';
import type { Database } from './database.ts';
import type { Sync } from './sync.ts';
import { tableOf } from './table.ts';

export const rules = tableOf<AssignmentRule>(ruleRecord);

export function ruleStore(db: Database): Sync<RuleStore> {
  const taken = (tenantId: string, priority: number, except: string | null) =>
    db.get('SELECT 1 FROM rules WHERE tenant_id = ? AND priority = ? AND id IS NOT ?', [
      tenantId,
      priority,
      except,
    ]) !== undefined;

  return {
    list: (tenantId) =>
      db
        .all(`SELECT ${rules.columns} FROM rules WHERE tenant_id = ? ORDER BY priority`, [tenantId])
        .map(rules.read),
    create(rule) {
      if (taken(rule.tenantId, rule.priority, null)) return 'priority_taken';
      db.run(rules.insert, rules.values(rule));
      return 'created';
    },
    update(tenantId, id, patch) {
      const old = rules.maybe(
        db.get(`SELECT ${rules.columns} FROM rules WHERE tenant_id = ? AND id = ?`, [tenantId, id]),
      );
      if (!old) return 'absent';
      const next: AssignmentRule = {
        ...old,
        priority: patch.priority ?? old.priority,
        pattern: patch.pattern ?? old.pattern,
        tagMatch: patch.tagMatch === undefined ? old.tagMatch : patch.tagMatch,
        bundleName: patch.bundleName ?? old.bundleName,
        env: patch.env ?? old.env,
      };
      if (taken(tenantId, next.priority, id)) return 'priority_taken';
      db.run('DELETE FROM rules WHERE id = ?', [id]);
      db.run(rules.insert, rules.values(next));
      return next;
    },
    remove: (tenantId, id) =>
      rules.maybe(
        db.get(`DELETE FROM rules WHERE tenant_id = ? AND id = ? RETURNING ${rules.columns}`, [tenantId, id]),
      ),
  };
}
