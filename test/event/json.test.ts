// The JSON of events that stores keep: its bytes, and what is read from them.
import { expect, it } from 'vitest';
import {
  fromEventJson,
  fromManifestJson,
  fromOutcomeJson,
  toEventJson,
  toManifestJson,
  toOutcomeJson,
} from '../../src/event/record/json.ts';
import type { EventInput, EventOutcome, StoredManifest } from '../../src/event/record.ts';

const names = { callId: 'c', agentId: 'a', toolName: 't', verdict: 'call_allowed', mode: 'enforce' };
const flatEvent: EventInput = {
  truncated: ['tool_name'],
  givenCallId: 'given',
  flat: true,
  sentBy: 'gateway',
  payload: { tool_args: {}, callId: 'kept' },
  timestamp: 1.5,
  ...names,
};

it.each<readonly [string, EventInput, string]>([
  [
    'without a payload or a call id',
    { ...names, timestamp: 2, payload: null, unnamed: true },
    '{"call_id":"c","agent_id":"a","tool_name":"t","verdict":"call_allowed","mode":"enforce","timestamp":2,' +
      '"payload":null,"unnamed":true}',
  ],
  [
    'of the flat form, with every field',
    flatEvent,
    '{"call_id":"c","agent_id":"a","tool_name":"t","verdict":"call_allowed","mode":"enforce","timestamp":1.5,' +
      '"payload":{"tool_args":{},"callId":"kept"},"sent_by":"gateway","flat":true,"given_call_id":"given",' +
      '"truncated":["tool_name"]}',
  ],
])('an event %s has these bytes and is read from them', (_, event, text) => {
  expect(JSON.stringify(toEventJson(event))).toBe(text);
  expect(fromEventJson(JSON.parse(text))).toStrictEqual(event);
});

it.each<readonly [string, EventOutcome, string]>([
  [
    'with few fields',
    { verdict: 'call_executed', timestamp: 1, decisionSource: null, decisionName: null, reason: null },
    '{"verdict":"call_executed","timestamp":1,"decision_source":null,"decision_name":null,"reason":null}',
  ],
  [
    'with every field',
    {
      conditions: '[]',
      isolation: 'none',
      policyError: false,
      error: 'gone',
      durationMs: 0,
      postconditionsPassed: false,
      toolSuccess: false,
      sentBy: 'a',
      reason: 'r',
      decisionName: 'n',
      decisionSource: 's',
      timestamp: 1,
      verdict: 'call_failed',
    },
    '{"verdict":"call_failed","timestamp":1,"decision_source":"s","decision_name":"n","reason":"r","sent_by":"a",' +
      '"tool_success":false,"postconditions_passed":false,"duration_ms":0,"error":"gone","policy_error":false,' +
      '"isolation":"none","conditions":"[]"}',
  ],
])('an outcome %s has these bytes and is read from them', (_, outcome, text) => {
  expect(JSON.stringify(toOutcomeJson(outcome))).toBe(text);
  expect(fromOutcomeJson(JSON.parse(text))).toStrictEqual(outcome);
});

it('a manifest has these bytes and is read from them', () => {
  const manifest: StoredManifest = { updatedAt: 1, contracts: [], policyVersion: 'v', agentId: 'a' };
  const text = '{"agent_id":"a","policy_version":"v","contracts":[],"updatedAt":1}';
  expect(JSON.stringify(toManifestJson(manifest))).toBe(text);
  expect(fromManifestJson(JSON.parse(text))).toStrictEqual(manifest);
});
