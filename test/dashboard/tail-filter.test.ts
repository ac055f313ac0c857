// The query of the live tail, on events as the stream sends them.
import { expect, it } from 'vitest';
import { listRowOf, tailFits } from '../../src/dashboard/pages/events/tail-filter.ts';
import { decisionEvent, renderEvent } from '../../src/event/hosted/event.ts';
import type { StoredEvent } from '../../src/event/record.ts';
import { anEvent, t0, uuid } from '../conformance/fixtures.ts';

const stored: StoredEvent = {
  ...anEvent({ verdict: 'call_asked' }),
  id: uuid(),
  seq: 1,
  env: 'production',
  createdAt: t0,
  outcomes: [
    {
      verdict: 'call_failed',
      timestamp: t0,
      decisionSource: null,
      decisionName: 'no-pears',
      reason: 'over the limit',
      toolSuccess: false,
      postconditionsPassed: false,
      durationMs: 7,
      error: 'the request timed out',
    },
  ],
};

it.each([
  ['agent:agent-1 tool:read_file', true],
  ['then:timed_out', true],
  ['then:warned', true],
  ['contract:no-pears', true],
  ['duration:<8ms', true],
  ['reason:limit', true],
  ['then:succeeded', false],
  ['contract:no-plums', false],
  ['duration:>8ms', false],
])('a query of the tail finds by outcomes as the hub does: %s', (text, isMatch) => {
  const sent: unknown = JSON.parse(JSON.stringify(renderEvent(stored, null)));
  expect(tailFits(text, {})(decisionEvent.parse(sent))).toBe(isMatch);
});

it.each([
  ['version:v8', true],
  ['version:8', true],
  ['version:(v7,v8)', true],
  ['version:v7', false],
  ['-version:v8', false],
  ['-version:v7', true],
])('a query of the tail finds by the number of a stored version: %s', (text, isMatch) => {
  const event = anEvent({ payload: { policy_version: 'c0ffee12' } });
  const sent: unknown = JSON.parse(JSON.stringify(renderEvent({ ...stored, ...event }, null)));
  const hashes = { 7: ['bad1dea5'], 8: ['abad1dea', 'c0ffee12'] };
  expect(tailFits(text, hashes)(decisionEvent.parse(sent))).toBe(isMatch);
});

it.each([
  ['bundle:shop', true],
  ['"no refunds today"', true],
  ['bundle:other', false],
])('a query of the tail finds by fields that only the agent has: %s', (text, isMatch) => {
  const event = anEvent({ payload: { bundle_name: 'shop', message: 'No refunds today' } });
  const sent: unknown = JSON.parse(JSON.stringify(renderEvent({ ...stored, ...event }, null)));
  expect(tailFits(text, {})(decisionEvent.parse(sent))).toBe(isMatch);
});

it('has one row for all cells of an event', () => {
  const event = decisionEvent.parse(JSON.parse(JSON.stringify(renderEvent(stored, null))));
  expect(listRowOf(event)).toBe(listRowOf(event));
  expect(listRowOf({ ...event })).not.toBe(listRowOf(event));
});
