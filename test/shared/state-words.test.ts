import { describe, expect, it } from 'vitest';
import { auditActionText, displayWord, stateWord } from '../../packages/agent/src/rules/state-words.ts';
import { classOf, knownVerdicts } from '../../src/event/rules/decision.ts';
import { deliveryStatuses } from '../../src/notification/record.ts';
import { runStatuses } from '../../src/run/record.ts';

describe('the words for states', () => {
  it('read the same for both words of one decision, by the class that it is counted as', () => {
    const words = {
      allow: 'allowed',
      block: 'denied',
      would_block: 'would deny',
      ask: 'asked',
      timeout: 'expired',
    };
    for (const verdict of knownVerdicts) {
      const kind = classOf(verdict);
      // As an approval's state; agents of earlier versions reported a call with it.
      const expected = verdict === 'pending' ? 'pending' : (words[kind as keyof typeof words] ?? null);
      expect(stateWord(verdict), verdict).toBe(expected);
    }
  });

  it('have four for approvals, and none for what is no state', () => {
    expect(['pending', 'approved', 'denied', 'timeout', 'timed_out'].map(stateWord)).toEqual([
      'pending',
      'approved',
      'denied',
      'expired',
      'expired',
    ]);
    expect(['call_failed', 'workflow_completed', 'constructor', ''].map(stateWord)).toEqual([
      null,
      null,
      null,
      null,
    ]);
  });
});

describe('the words for other states', () => {
  it('are those of agents, runs, deliveries and audited decisions', () => {
    const states = [
      'current',
      'drift',
      'unknown',
      'active',
      'approval_pending',
      'blocked',
      'completed',
      'stale',
    ];
    expect(states.map(displayWord)).toEqual([
      'current',
      'out of date',
      'unknown',
      'running',
      'pending',
      'denied',
      'completed',
      'stale',
    ]);
    expect(['waiting', 'delivered', 'dead'].map(displayWord)).toEqual(['queued', 'delivered', 'failed']);
    expect(['approval.created', 'approval.rejected', 'approval.timed_out'].map(auditActionText)).toEqual([
      'approval pending',
      'approval denied',
      'approval expired',
    ]);
    expect(auditActionText('operator_token.revoked')).toBe('operator token revoked');
  });

  it('contain no underscore, whichever word a hub sends', () => {
    for (const word of [...knownVerdicts, ...runStatuses, ...deliveryStatuses, 'no_such_state']) {
      expect(displayWord(word)).not.toContain('_');
    }
  });
});
