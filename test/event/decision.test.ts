// Both vocabularies of actions, and the flat form of events.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { repairFlatEvent } from '../../src/event/console/forms.ts';
import { renderEvent } from '../../src/event/hosted/event.ts';
import { policyVersionOf } from '../../src/event/record.ts';
import {
  actionOf,
  callIdOf,
  classOf,
  consoleVerdict,
  isWanted,
  knownVerdicts,
  sessionOf,
  verdictFilter,
} from '../../src/event/rules/decision.ts';
import { uuidPattern } from '../../src/shared/ids.ts';

const now = Date.UTC(2026, 5, 1);
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const context = { agentId: 'of-the-key', now, sha256 };

const flat = {
  schema_version: '0.3.0',
  call_id: 'call-1',
  agent_id: 'a',
  tool_name: 'read_file',
  tool_args: { path: '/x' },
  action: 'call_allowed',
  mode: 'enforce',
  timestamp: new Date(now).toISOString(),
  session_id: 's1',
};

function eventOf(value: unknown) {
  const repaired = repairFlatEvent(value, context);
  if (!('event' in repaired)) throw new Error(repaired.code);
  return repaired.event;
}

describe('actions', () => {
  it.each([
    ['call_denied', 'call_blocked', 'block'],
    ['call_would_deny', 'call_would_block', 'would_block'],
    ['call_approval_requested', 'call_asked', 'ask'],
    ['call_approval_denied', 'call_approval_blocked', 'block'],
    ['call_approval_timeout', 'call_approval_timeout', 'timeout'],
    ['call_executed', 'call_executed', 'allow'],
    ['call_failed', 'call_failed', 'fail'],
    ['postcondition_warning', 'postcondition_warning', 'warn'],
    ['workflow_completed', 'workflow_completed', 'workflow'],
    ['constructor', 'constructor', 'other'],
  ])('%s is %s, of class %s', (word, action, found) => {
    expect([actionOf(word), classOf(word)]).toEqual([action, found]);
  });

  it('the console keeps its words', () => {
    expect(['call_blocked', 'call_asked', 'call_executed', 'toString'].map(consoleVerdict)).toEqual([
      'call_denied',
      'call_approval_requested',
      'call_executed',
      'toString',
    ]);
  });

  it('a filter finds every spelling of what it names, and nothing else', () => {
    const found = (words: string[]) => {
      const filter = verdictFilter(words);
      return filter && [...knownVerdicts, 'odd'].filter((word) => isWanted(filter, word)).sort();
    };
    expect(found(['ask'])).toEqual(['call_approval_requested', 'call_asked', 'pending', 'pending_approval']);
    expect(found(['call_denied'])).toEqual(['call_blocked', 'call_denied', 'denied', 'deny']);
    expect(found(['call_executed'])).toEqual(['call_executed', 'executed']);
    expect(found(['other'])).toEqual(['odd']);
    expect(found(['other', 'fail'])).toEqual(['call_failed', 'odd']);
    expect(found(['nonsense'])).toBeNull();
  });
});

describe('flat events', () => {
  it('several events of one call are told apart, a repeat is not', () => {
    const [allowed, again, executed] = [flat, { ...flat }, { ...flat, action: 'call_executed' }].map(eventOf);
    expect(allowed?.callId).toBe(again?.callId);
    expect(allowed?.callId).not.toBe(executed?.callId);
    expect(allowed?.callId).toMatch(uuidPattern);
    expect(allowed && callIdOf(allowed)).toBe('call-1');
  });

  it('the order of keys and the spelling of the action make no other event', () => {
    const reversed = Object.fromEntries(Object.entries(flat).reverse());
    expect(eventOf(reversed).callId).toBe(eventOf(flat).callId);
    const [asked, requested] = ['call_asked', 'call_approval_requested'].map((action) => ({
      ...flat,
      action,
    }));
    expect(eventOf(requested).callId).toBe(eventOf(asked).callId);
  });

  it('agents that send the same are two', () => {
    const { agent_id: _, ...none } = flat;
    expect(eventOf(none).agentId).toBe('of-the-key');
    expect(eventOf({ ...none, agent_id: 'b' }).callId).not.toBe(eventOf(none).callId);
    expect(eventOf({ ...none, agent_id: 'of-the-key' }).callId).toBe(eventOf(none).callId);
    // An empty agent id is none.
    expect(eventOf({ ...none, agent_id: '' })).toEqual(eventOf(none));
  });

  it('the nested form becomes flat', () => {
    const event = eventOf({
      ...flat,
      action: undefined,
      decision: 'call_denied',
      payload: { run_id: 'r', session_id: '' },
    });
    expect(event).toMatchObject({ verdict: 'call_blocked', flat: true });
    expect(sessionOf(event)).toBe('s1');
  });

  it('an event from far in the future is refused, one without a time has that of receipt', () => {
    const ahead = { ...flat, timestamp: new Date(now + 86_400_001).toISOString() };
    expect(repairFlatEvent(ahead, context)).toMatchObject({ code: 'timestamp_in_future' });
    expect(eventOf({ ...flat, timestamp: 'soon' }).timestamp).toBe(now);
  });

  it('a text that is too long for a policy version names none, and readers get it as it was sent', () => {
    const version = 'v'.repeat(256);
    const sent = eventOf({ ...flat, policy_version: version });
    expect(policyVersionOf(sent)).toBeNull();
    const stored = { ...sent, id: 'i', seq: 1, env: 'production', createdAt: now, outcomes: [] };
    expect(renderEvent(stored, null)).toMatchObject({ policy_version: version });
    expect(policyVersionOf({ payload: { policy_version: version.slice(1) } })).toBe(version.slice(1));
  });

  it('a session that says nothing is none; the run id stands in for it', () => {
    expect(sessionOf({ payload: { session_id: '', run_id: 'r' } })).toBe('r');
    expect(sessionOf({ payload: { session_id: null } })).toBeNull();
    expect(sessionOf({ payload: { session_id: 7 } })).toBeNull();
    expect(sessionOf({ payload: { session_id: 'x'.repeat(256) } })).toBeNull();
  });
});
