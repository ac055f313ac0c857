// A run in the hosted API's words, as lists show it.

import { type Approval, ruleNameOf } from '../../approval/record.ts';
import type { DecisionClass } from '../../event/record/words.ts';
import { classOf } from '../../event/rules/decision.ts';
import { shortened } from '../../http/contract/listed.ts';
import type { Truncated } from '../../shared/truncated.ts';
import {
  callOutcomeRecord,
  lastEventRecord,
  pendingApprovalRecord,
  type RunFacts,
  readSnapshot,
  runCountRecord,
  runRecord,
  workflowRecord,
} from '../record.ts';
import { callOutcomes } from '../rules/call-outcomes.ts';
import type { RunView } from '../use-cases/runs.ts';

/** In a list, no field is larger than it may hold. */
export const runRow = runRecord.reply('hosted', 'list');

/** The value, unless it is too large for a list. */
const brief = <T>(value: T): T | Truncated => shortened({ value }).value;

/** A run as lists show it: no field is larger than they may hold. */
export function renderRun({ run, status, ruleset }: RunView) {
  const { facts, oldestPending } = run;
  const workflow = facts?.snapshot ? readSnapshot(facts.snapshot.value) : null;
  const reply = runRecord.render('hosted', {
    ...run,
    runId: facts?.runId ?? null,
    parentSessionId: facts?.parentSessionId ?? null,
    status,
    workflow: workflow && workflowRecord.render('hosted', workflow),
    rulesetName: ruleset?.name ?? null,
    rulesetVersion: ruleset?.version ?? null,
    policyVersion: facts?.version?.policyVersion ?? null,
    lastAt: run.lastActivityAt,
    lastEvent:
      facts &&
      lastEventRecord.render('hosted', {
        ...facts.last,
        id: run.lastEventId,
        decision: classOf(facts.last.action),
        timestamp: facts.last.at,
      }),
    pendingApproval: oldestPending && renderPending(oldestPending),
    pendingApprovalCount: run.pendingApprovals,
    counts: renderCounts(facts),
    callOutcomes: renderOutcomes(facts),
  });
  return { ...reply, workflow: reply.workflow && brief(reply.workflow) };
}

function renderPending(approval: Approval) {
  const reply = pendingApprovalRecord.render('hosted', { ...approval, ruleName: ruleNameOf(approval) });
  return { ...reply, message: brief(reply.message) };
}

function renderCounts(facts: RunFacts | null) {
  const count = (name: DecisionClass): number => facts?.counts[name] ?? 0;
  return runCountRecord.render('hosted', {
    events: Object.values(facts?.counts ?? {}).reduce((sum, n) => sum + n, 0),
    calls: facts?.calls ?? 0,
    allowed: count('allow'),
    blocked: count('block'),
    asking: count('ask'),
    wouldBlock: count('would_block'),
    timedOut: count('timeout'),
    failed: count('fail'),
    warned: count('warn'),
  });
}

/** Null where the outcomes are unknown. */
function renderOutcomes(facts: RunFacts | null) {
  const steps = facts ? facts.steps : {};
  return steps === undefined ? null : callOutcomeRecord.render('hosted', callOutcomes(steps));
}
