// Approvals in SQLite: each transition is one conditional UPDATE.

import type { ApprovalPlace, ApprovalStore } from '../../src/approval/port.ts';
import {
  type Approval,
  type ApprovalAssignee,
  approvalRecord,
  type Decision,
  decidedFields,
  maxInlineArgs,
} from '../../src/approval/record.ts';
import type { JsonObject } from '../../src/contract/record.ts';
import { type Env, environments } from '../../src/shared/ids.ts';
import { approvalArguments } from './approval-arguments.ts';
import { noteApprovalLine } from './approval-lines.ts';
import { countApprovals, listApprovals } from './approvals-list.ts';
import { countAlike, listPending } from './approvals-pending.ts';
import type { Database, Row } from './database.ts';
import type { Sync } from './sync.ts';
import { envsParameter, inEnvs, number, tableOf } from './table.ts';

export const approvals = tableOf<Approval>(approvalRecord);
/** With the time since when it waits to be announced. */
const announceable = tableOf<Approval, { readonly unannouncedAt: number }>(approvalRecord, {
  unannouncedAt: number('unannounced_at'),
});

const select = `SELECT ${approvals.columns} FROM approvals`;

const place = ([tenantId, env, id]: Row): ApprovalPlace => ({
  tenantId: String(tenantId),
  env: String(env) as Env,
  id: String(id),
});

const approvalOf = (db: Database, tenantId: string, id: string) =>
  approvals.maybe(db.get(`${select} WHERE tenant_id = ? AND id = ?`, [tenantId, id]));

function requestApproval(db: Database, approval: Approval): Approval {
  const stored = approvalOf(db, approval.tenantId, approval.id);
  if (stored) return stored;
  db.run(announceable.insert, announceable.values({ ...approval, unannouncedAt: approval.createdAt }));
  noteApprovalLine(db, approval, 'requested');
  return approval;
}

function wholeApproval(db: Database, tenantId: string, id: string): Approval | null {
  const approval = approvalOf(db, tenantId, id);
  if (!approval || approval.argsBytes <= maxInlineArgs) return approval;
  const kept = db.get('SELECT args FROM approval_args WHERE tenant_id = ? AND id = ?', [tenantId, id]);
  return { ...approval, toolArgs: kept ? (JSON.parse(String(kept[0])) as JsonObject) : null };
}

/** An approval's end counts for the retention of its run, as what the run received. A trigger moves its activity. */
function noteEnd(db: Database, approval: Approval): void {
  const { tenantId, agentId, sessionId, decidedAt, deadline } = approval;
  if (sessionId === null) return;
  db.run(
    'UPDATE runs SET received_at = max(received_at, ?) WHERE tenant_id = ? AND agent = ? AND session = ?',
    [decidedAt ?? deadline, tenantId, agentId, sessionId],
  );
}

function decideApproval(
  db: Database,
  tenantId: string,
  id: string,
  decision: Decision,
  now: number,
): Approval | 'absent' | 'not_pending' {
  const change = approvals.change(decidedFields(decision, now));
  const row = db.get(
    `UPDATE approvals SET ${change.assignments}, decision_id = ?, unannounced_at = ?
       WHERE tenant_id = ? AND id = ? AND status = 'pending' AND deadline > ? RETURNING ${approvals.columns}`,
    [...change.values, decision.id, now, tenantId, id, now],
  );
  if (row) {
    const approval = approvals.read(row);
    noteApprovalLine(db, approval, 'decided');
    noteEnd(db, approval);
    return approval;
  }
  const won = `${select} WHERE tenant_id = ? AND id = ? AND decision_id = ?`;
  const repeated = approvals.maybe(db.get(won, [tenantId, id, decision.id]));
  return repeated ?? (approvalOf(db, tenantId, id) ? 'not_pending' : 'absent');
}

function assignApproval(
  db: Database,
  tenantId: string,
  id: string,
  assignee: ApprovalAssignee | null,
  now: number,
): Approval | 'absent' | 'not_pending' {
  const row = db.get(
    `UPDATE approvals SET assignee = ?, assignee_id = ?
       WHERE tenant_id = ? AND id = ? AND status = 'pending' AND deadline > ? RETURNING ${approvals.columns}`,
    [assignee && JSON.stringify(assignee), assignee?.id ?? null, tenantId, id, now],
  );
  return approvals.maybe(row) ?? (approvalOf(db, tenantId, id) ? 'not_pending' : 'absent');
}

function expireApproval(db: Database, tenantId: string, id: string, now: number): Approval | null {
  const row = db.get(
    `UPDATE approvals SET status = 'timeout', decided_via = 'system', unannounced_at = ?3
       WHERE tenant_id = ?1 AND id = ?2 AND status = 'pending' AND deadline <= ?3 RETURNING ${approvals.columns}`,
    [tenantId, id, now],
  );
  const approval = approvals.maybe(row);
  if (approval === null) return null;
  noteApprovalLine(db, approval, 'expired');
  noteEnd(db, approval);
  return approval;
}

/** Approvals that wait: for a decision, for their end, or to be announced. */
const waitingApprovals = (
  db: Database,
): Pick<
  Sync<ApprovalStore>,
  'listDeadlines' | 'listDue' | 'listDueOf' | 'listUnannounced' | 'countPending'
> => ({
  listDeadlines: (tenantId, env) =>
    db
      .all(
        `SELECT id, created_at, deadline FROM approvals WHERE tenant_id = ? AND env = ? AND status = 'pending'
           ORDER BY deadline`,
        [tenantId, env],
      )
      .map(([id, createdAt, deadline]) => ({
        id: String(id),
        createdAt: Number(createdAt),
        deadline: Number(deadline),
      })),
  listDue: (now, limit, skip = 0) =>
    db
      .all(
        `SELECT tenant_id, env, id FROM approvals WHERE status = 'pending' AND deadline <= ?
           ORDER BY deadline LIMIT ? OFFSET ?`,
        [now, limit, skip],
      )
      .map(place),
  listDueOf: (tenantId, now, limit) =>
    db
      .all(
        // Naming the environments lets the index of pending ones find them.
        `SELECT tenant_id, env, id FROM approvals
           WHERE tenant_id = ? AND env IN (${environments.map(() => '?').join(', ')}) AND status = 'pending' AND deadline <= ?
           ORDER BY deadline LIMIT ?`,
        [tenantId, ...environments, now, limit],
      )
      .map(place),
  listUnannounced: (before, limit, skip = 0) =>
    db
      .all(
        `SELECT tenant_id, env, id FROM approvals WHERE unannounced_at < ?
           ORDER BY unannounced_at LIMIT ? OFFSET ?`,
        [before, limit, skip],
      )
      .map(place),
  countPending: (tenantId, env, now) =>
    Number(
      db.get(
        `SELECT count(*) FROM approvals WHERE tenant_id = ?1 AND ${inEnvs('?2', 'env')}
           AND status = 'pending' AND deadline > ?3`,
        [tenantId, envsParameter(env), now],
      )?.[0],
    ),
});

/** @param mayGrow false while the disk has too little room for what can wait */
export const approvalStore = (db: Database, mayGrow: () => boolean): Sync<ApprovalStore> => ({
  request: (approval) => requestApproval(db, approval),
  get: (tenantId, id) => approvalOf(db, tenantId, id),
  getWhole: (tenantId, id) => wholeApproval(db, tenantId, id),
  ...approvalArguments(db, mayGrow),
  ...waitingApprovals(db),
  list: (tenantId, filter, page, now) =>
    listApprovals(db, { select, read: approvals.read }, tenantId, filter, page, now),
  listPending: (tenantId, filter, page, now) =>
    listPending(db, { select, read: approvals.read }, tenantId, filter, page, now),
  countAlike: (tenantId, env, after, now) => countAlike(db, tenantId, env, after, now),
  count: (tenantId, filter, now) => countApprovals(db, tenantId, filter, now),
  decide: (tenantId, id, decision, now) => decideApproval(db, tenantId, id, decision, now),
  assign: (tenantId, id, assignee, now) => assignApproval(db, tenantId, id, assignee, now),
  release: (tenantId, personId) =>
    db
      .all(
        `UPDATE approvals SET assignee = NULL, assignee_id = NULL
           WHERE tenant_id = ? AND assignee_id = ? AND status = 'pending' RETURNING ${approvals.columns}`,
        [tenantId, personId],
      )
      .map(approvals.read),
  expire: (tenantId, id, now) => expireApproval(db, tenantId, id, now),
  announced(tenantId, status, ids) {
    for (const id of ids) {
      db.run('UPDATE approvals SET unannounced_at = NULL WHERE tenant_id = ? AND id = ? AND status = ?', [
        tenantId,
        id,
        status,
      ]);
    }
  },
  remove(tenantId, id) {
    db.run('DELETE FROM approvals WHERE tenant_id = ? AND id = ?', [tenantId, id]);
    db.run('DELETE FROM approval_lines WHERE tenant_id = ? AND id = ?', [tenantId, id]);
    db.run('DELETE FROM approval_args WHERE tenant_id = ? AND id = ?', [tenantId, id]);
  },
});
