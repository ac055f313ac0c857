// Bytes that a store keeps as they were sent give the events that the reader in steps makes of them.
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readBatch } from '../../src/event/console/batch.ts';
import { eventAsSent } from '../../src/event/record/json.ts';
import { maxWholeBytes } from '../../src/event/rules/as-sent.ts';
import type { RepairContext } from '../../src/event/rules/repair.ts';
import { createEventLoopBudget } from '../../src/shared/concurrency/event-loop-budget.ts';
import { runsOf } from '../runs.ts';

const context: RepairContext = {
  agentId: 'a',
  now: Date.UTC(2026, 0, 1),
  sha256: (text) => createHash('sha256').update(text).digest('hex'),
};
const budget = createEventLoopBudget(setImmediate);
async function read(text: string) {
  // Only the reader in steps measures elements.
  const { sizes: _sizes, ...batch } = await readBatch(Buffer.from(text), context, budget);
  return batch;
}
/** The same batch, too long to be parsed in one go. */
const readInSteps = (text: string) => read(`${text}${' '.repeat(maxWholeBytes)}`);
const textOf = (bytes: Uint8Array | undefined): string | null =>
  bytes ? Buffer.from(bytes).toString() : null;

const event = {
  call_id: 'c1',
  agent_id: 'a',
  tool_name: 't',
  verdict: 'call_allowed',
  mode: 'enforce',
  timestamp: '2026-01-02T03:04:05.123456Z',
  payload: { tool_args: { path: '/é/"quoted": 1', list: [1, 2.5, null, true] }, reason: null },
};
const list = (...members: string[]): string => `{"events":[${members.join(',')}]}`;
const whole = JSON.stringify(event);

describe('a list that every reader reads alike', () => {
  it.each([
    ['compact', list(whole, whole.replace('c1', 'c2'))],
    [
      'with blanks',
      JSON.stringify({ events: [{ ...event, payload: { a: 1 } }] }, null, 2).replaceAll('": ', '":'),
    ],
    ['empty', list()],
    ['without a payload', list(JSON.stringify({ ...event, payload: null }))],
  ])('is kept: %s', async (_, text) => {
    const { sent, events } = await read(text);
    const kept = textOf(sent);
    expect(kept).toBe(text.slice(text.indexOf('['), text.lastIndexOf(']') + 1));
    expect((JSON.parse(kept ?? '') as unknown[]).map((value) => eventAsSent(value, null))).toEqual(events);
    expect(events).toEqual((await readInSteps(text)).events);
  });
});

describe('a list that needs repair, or that readers read differently', () => {
  it.each([
    ['a repeated member', list(whole.replace('"mode"', '"tool_name":"other","mode"'))],
    ['a repeated member inside', list(whole.replace('"reason":null', '"reason":null,"reason":"x"'))],
    ['a long number', list(whole.replace('2.5', '12345678901234567890'))],
    ['an escaped letter', list(whole.replace('/é/', '\\u002f'))],
    ['an escaped slash', list(whole.replace('/é/', '\\/'))],
    ['an unknown member', list(whole.replace('"mode"', '"truncated":["x"],"mode"'))],
    ['a missing mode', list(JSON.stringify({ ...event, mode: undefined }))],
    ['a missing id', list(JSON.stringify({ ...event, call_id: undefined }))],
    ['an odd time', list(JSON.stringify({ ...event, timestamp: 'today' }))],
    ['a long name', list(JSON.stringify({ ...event, tool_name: 't'.repeat(300) }))],
    ['a large payload', list(JSON.stringify({ ...event, payload: { text: 'x'.repeat(70_000) } }))],
    [
      'the flat form',
      list(
        '{"call_id":"c","agent_id":"a","tool_name":"t","action":"call_allowed","timestamp":"2026-01-02T03:04:05Z"}',
      ),
    ],
    ['one bad event', list(whole, '7')],
    ['a manifest beside it', `{"events":[${whole}],"agent_manifest":{"contracts":[]}}`],
    ['two lists', `{"events":[],"events":[${whole}]}`],
    ['a name with an escape', `{"\\u0065vents":[${whole}]}`],
  ])('is written anew: %s', async (_, text) => {
    const batch = await read(text);
    expect(batch.sent).toBeUndefined();
    expect({ ...batch }).toEqual(await readInSteps(text));
  });

  it('is refused in the same words', async () => {
    const refusal = (reading: Promise<unknown>) =>
      reading.then(
        () => null,
        (error: Error) => error.message,
      );
    for (const text of [
      '{',
      '[]',
      '{}',
      '{"events":{}}',
      '{"events":[1,]}',
      `${list(whole)} 1`,
      '{"events":[\u0001]}',
    ])
      expect(await refusal(read(text))).toBe(await refusal(readInSteps(text)));
  });
});

it('any events are read alike in one go and in steps, and alike again from kept bytes', async () => {
  const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 8 });
  const sentEvent = fc.record(
    {
      call_id: name,
      agent_id: name,
      tool_name: name,
      verdict: fc.constantFrom('call_allowed', 'call_denied'),
      mode: fc.constantFrom('enforce', 'observe'),
      timestamp: fc.constantFrom('2026-01-02T03:04:05Z', '2026-01-02', 'never'),
      payload: fc.option(fc.dictionary(name, fc.jsonValue({ maxDepth: 3 }))),
      extra: fc.jsonValue(),
    },
    { requiredKeys: ['call_id', 'agent_id', 'tool_name', 'verdict', 'mode', 'timestamp'] },
  );
  let kept = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(sentEvent, { maxLength: 4 }), fc.constantFrom(0, 1), async (events, indent) => {
      const text = JSON.stringify({ events }, null, indent);
      const { sent, ...batch } = await read(text);
      expect(batch).toEqual(await readInSteps(text));
      if (!sent) return;
      kept++;
      expect((JSON.parse(textOf(sent) ?? '') as unknown[]).map((value) => eventAsSent(value, null))).toEqual(
        batch.events,
      );
    }),
    { numRuns: runsOf(300, 100) },
  );
  expect(kept).toBeGreaterThan(5);
});
