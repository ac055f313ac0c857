// Reading a batch of events: what is kept, repaired and rejected; one bad event never costs the others.
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxBatchEvents, readBatch, readParsedBatch } from '../../src/event/console/batch.ts';
import { maxPayload } from '../../src/event/rules/payload-fit.ts';
import { createEventLoopBudget } from '../../src/shared/concurrency/event-loop-budget.ts';
import { runsOf } from '../runs.ts';

const now = Date.UTC(2026, 0, 2);
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const context = { agentId: 'sender', now, sha256 };
const budget = createEventLoopBudget((task) => setImmediate(task));

const bytes = (value: unknown) =>
  new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value));
const read = (value: unknown) => readBatch(bytes(value), context, budget);

const event = {
  call_id: 'c1',
  agent_id: 'a1',
  tool_name: 'read_file',
  verdict: 'call_allowed',
  mode: 'enforce',
  timestamp: '2026-01-02T03:04:05.123456+00:00',
};
const kept = {
  callId: 'c1',
  agentId: 'a1',
  toolName: 'read_file',
  verdict: 'call_allowed',
  mode: 'enforce',
  timestamp: Date.UTC(2026, 0, 2, 3, 4, 5) + 123.456,
  payload: null,
};
const one = async (changed: object) => (await read({ events: [{ ...event, ...changed }] })).events[0];

describe('an event that is too large to be parsed whole', () => {
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;

  it('is stored shortened, between others that are stored whole', async () => {
    const large = {
      ...event,
      call_id: 'large',
      payload: { tool_args: { text: 'x'.repeat(3_000_000), path: 'a' } },
    };
    const { events, sizes } = await read({ events: [event, large, { ...event, call_id: 'last' }] });
    expect(events.map(({ callId, truncated }) => [callId, truncated])).toEqual([
      ['c1', undefined],
      ['large', ['payload.tool_args']],
      ['last', undefined],
    ]);
    expect(events[1]?.payload).toEqual({ tool_args: { text: `${'x'.repeat(8191)}…`, path: 'a' } });
    expect(sizes).toEqual(
      [event, large, { ...event, call_id: 'last' }].map((each) => JSON.stringify(each).length),
    );
  });

  it('keeps its marks at numbers that a double cannot hold', async () => {
    const text = `{"call_id":"c","payload":{"id":12345678901234567890,"text":"${'x'.repeat(400_000)}"}}`;
    const { events } = await read(`{"events":[${text}]}`);
    expect(events[0]?.payload).toMatchObject({ id: '12345678901234567890' });
    expect(events[0]?.truncated).toEqual(['payload.text', 'payload.id']);
  });

  it('is rejected alone when it is no object, or nested too deep', async () => {
    const { events, rejected } = await read(`{"events":["${'x'.repeat(2_000_000)}",{"a":${deep}},{}]}`);
    expect(rejected.map(({ index, code }) => [index, code])).toEqual([
      [0, 'not_an_object'],
      [1, 'too_deep'],
    ]);
    expect(events.length).toBe(1);
  });

  it('refuses its batch where what is kept of it is no JSON', async () => {
    const text = 'x'.repeat(400_000);
    await expect(read(`{"events":[{"payload":{"a":nonsense,"b":"${text}"}}]}`)).rejects.toMatchObject({
      code: 'invalid_json',
    });
    await expect(read(`{"events":[{"call_id":"${text}\n"}]}`)).rejects.toMatchObject({
      code: 'invalid_json',
    });
  });

  it('does not take a manifest over 1 MiB', async () => {
    const contract = { id: 'c', type: 'pre', tool: 'a', mode: 'enforce' };
    const manifest = (note: string) => ({ agent_id: 'a1', policy_version: 'v', note, contracts: [contract] });
    const batch = (note: string) => read({ events: [event], agent_manifest: manifest(note) });
    expect((await batch('x'.repeat(900_000))).manifest).toMatchObject({ contracts: [contract] });
    expect((await batch('x'.repeat(1_100_000))).manifest).toBe('refused');
  });
});

describe('a batch', () => {
  it('becomes domain events with microseconds and without unknown fields', async () => {
    const batch = await read({ events: [{ ...event, payload: { a: 1 }, extra: true }], more: 1 });
    expect(batch).toEqual({
      events: [{ ...kept, payload: { a: 1 } }],
      places: [0],
      rejected: [],
      manifest: null,
    });
  });

  it('takes the flat form of newer clients: the action is the verdict, what else is said the payload', async () => {
    const { verdict: _, ...flat } = event;
    const said = { tool_args: { path: '/a' }, decision_name: 'no-env', session_id: null };
    const batch = await read({ events: [{ ...flat, action: 'call_blocked', ...said }] });
    expect(batch.events).toEqual([{ ...kept, verdict: 'call_denied', payload: said }]);
    // A verdict or a payload says that it is the nested form.
    expect(await one({ action: 'call_blocked' })).toEqual(kept);
    expect(readParsedBatch({ events: [{ ...flat, action: 'call_executed' }] }, context).events).toEqual([
      { ...kept, verdict: 'call_executed', payload: {} },
    ]);
  });

  it.each([
    ['no JSON', '{"events":[}', 'invalid_json'],
    ['no word of JSON', 'nonsense', 'invalid_json'],
    ['a list', '[]', 'validation_failed'],
    ['a list and more', '[] []', 'invalid_json'],
    ['nothing', 'null', 'validation_failed'],
    ['a text', '"events"', 'validation_failed'],
    ['two values', '{"events":[]} {}', 'invalid_json'],
    ['an element that is no JSON', '{"events":[{"a":}]}', 'invalid_json'],
    ['a comma too many', '{"events":[{},]}', 'invalid_json'],
    ['a text without an end', '{"events":["a]}', 'invalid_json'],
    ['no list of events', '{"event":[]}', 'validation_failed'],
    ['a mapping of events', '{"events":{}}', 'validation_failed'],
    ['too many events', { events: Array.from({ length: maxBatchEvents + 1 }, () => 0) }, 'validation_failed'],
    ['too many values', `{"events":[[${'0,'.repeat(2_000_000)}0]]}`, 'invalid_json'],
  ])('is refused whole for %s', async (_what, text, code) => {
    await expect(read(text)).rejects.toMatchObject({ code });
  });

  it('is refused whole when it is not UTF-8', async () => {
    const bad = Uint8Array.of(...bytes('{"events":["'), 0xff, ...bytes('"]}'));
    await expect(readBatch(bad, context, budget)).rejects.toMatchObject({ code: 'invalid_json' });
  });

  it('keeps the events behind one that is none', async () => {
    const { events, rejected } = await read({ events: [null, event] });
    expect([events, rejected.map(({ index }) => index)]).toEqual([[kept], [0]]);
  });

  it('may be empty', async () => {
    expect((await read({ events: [] })).events).toEqual([]);
  });

  it('loses nothing but the events that are none, and says which', async () => {
    const deep = `${'['.repeat(70)}${']'.repeat(70)}`;
    const text = `{"events":[${JSON.stringify(event)}, 7, null, "x", [], {"call_id":"deep","payload":${deep}}, ${JSON.stringify({ ...event, call_id: 'c2' })}]}`;
    const { events, places, rejected } = await read(text);
    expect(events.map(({ callId }) => callId)).toEqual(['c1', 'c2']);
    expect(places).toEqual([0, 6]);
    expect(rejected.map(({ index, code }) => [index, code])).toEqual([
      [1, 'not_an_object'],
      [2, 'not_an_object'],
      [3, 'not_an_object'],
      [4, 'not_an_object'],
      [5, 'too_deep'],
    ]);
  });

  it('takes NaN and Infinity for null, and leaves texts with these words alone', async () => {
    const text = `{"events":[{"call_id":"NaN","payload":{"a":NaN,"b":-Infinity,"c":"NaN \\" Infinity","d":Infinity}}]}`;
    expect((await read(text)).events[0]).toMatchObject({
      callId: 'NaN',
      payload: { a: null, b: null, c: 'NaN " Infinity', d: null },
    });
  });
});

describe('an event', () => {
  it.each([
    ['a number for a name', { tool_name: 7 }, { toolName: '7' }],
    ['a name that is missing', { tool_name: undefined }, { toolName: 'unknown' }],
    ['a name of a wrong type', { agent_id: ['a'] }, { agentId: 'sender' }],
    ['an odd tool name', { tool_name: '../a b\\c\n' }, { toolName: '../a b\\c\n' }],
    ['control characters and half characters', { agent_id: 'a\u0000\ud800' }, { agentId: 'a\u0000\ud800' }],
    ['an unknown mode', { mode: 'shadow' }, { mode: 'shadow' }],
    ['an unknown verdict', { verdict: 'maybe' }, { verdict: 'maybe' }],
    [
      'no verdict but a decision',
      { verdict: undefined, decision: 'call_denied' },
      { verdict: 'call_denied' },
    ],
    ['a time that is none', { timestamp: 'today' }, { timestamp: now }],
    ['a day that is none', { timestamp: '2026-02-30' }, { timestamp: now }],
    ['no time', { timestamp: undefined }, { timestamp: now }],
    ['a payload that is a list', { payload: [1] }, { payload: { value: [1] }, truncated: ['payload'] }],
  ])('with %s is kept', async (_what, changed, expected) => {
    expect(await one(changed)).toMatchObject(expected);
  });

  it('keeps __proto__ and constructor as plain data', async () => {
    const { events } = await read(
      '{"events":[{"call_id":"c","payload":{"__proto__":{"a":1},"constructor":{"prototype":2}}}]}',
    );
    expect(JSON.stringify(events[0]?.payload)).toBe('{"__proto__":{"a":1},"constructor":{"prototype":2}}');
    expect(({} as { a?: number }).a).toBeUndefined();
  });

  it('with a name over 255 characters keeps 200 of them and a digest', async () => {
    const long = 'x'.repeat(1_000_000);
    expect(await one({ call_id: long, agent_id: long })).toMatchObject({
      callId: `${'x'.repeat(200)}~${sha256(long).slice(0, 16)}`,
      agentId: `${'x'.repeat(200)}~${sha256(long).slice(0, 16)}`,
      truncated: ['call_id', 'agent_id'],
    });
  });

  it('without a call id is known by its content', async () => {
    const { events } = await read(
      '{"events":[{"agent_id":"a","payload":{"x":1,"y":2}},{"call_id":"","agent_id":"a"},{"payload":{"y":2,"x":1},"agent_id":"a"}]}',
    );
    expect(events.map(({ unnamed }) => unnamed)).toEqual([true, true, true]);
    expect(events[0]?.callId).toBe(events[2]?.callId);
    expect(events[0]?.callId).not.toBe(events[1]?.callId);
  });

  it('without a call id and an agent is known by its content and the agent of the request', async () => {
    const text =
      '{"events":[{"tool_name":"pay"},{"agent_id":"a","tool_name":"pay"},{"tool_name":"pay","text":"é"}]}';
    const idsOf = async (agentId: string) =>
      (await readBatch(bytes(text), { ...context, agentId }, budget)).events.map(({ callId }) => callId);
    const [ofA, again, ofB] = [await idsOf('a'), await idsOf('a'), await idsOf('b')];
    expect(again).toEqual(ofA);
    expect(ofB.map((id, i) => id === ofA[i])).toEqual([false, true, false]);
  });

  it('with a payload over 64 KiB has its texts cut, and says which', async () => {
    const stored = await one({
      payload: { tool_args: { text: 'é'.repeat(200_000), path: 'a' }, reason: 'short' },
    });
    expect(stored?.truncated).toEqual(['payload.tool_args']);
    expect(stored?.payload).toMatchObject({ reason: 'short', tool_args: { path: 'a' } });
    expect(Buffer.byteLength(JSON.stringify(stored?.payload))).toBeLessThanOrEqual(maxPayload);
  });

  it('with a payload of too many values gives up its largest field', async () => {
    const stored = await one({ payload: { list: Array.from({ length: 50_000 }, (_, i) => i), reason: 'r' } });
    expect(stored?.payload).toMatchObject({ reason: 'r', list: { _truncated: true } });
  });
});

describe('a manifest', () => {
  const contracts = [{ id: 'a', type: 'pre', tool: 'x', mode: 'enforce' }];
  const manifest = (given: unknown) => read({ events: [event], agent_manifest: given });

  it('without an agent id is of the agent of the events', async () => {
    const expected = { agentId: 'a1', policyVersion: '', contracts };
    expect((await manifest({ agent_id: '', contracts })).manifest).toEqual(expected);
    expect((await manifest({ contracts })).manifest).toEqual(expected);
  });

  it('of another agent, or that cannot be read, is refused, and the events are kept', async () => {
    for (const given of [{ agent_id: 'other', contracts }, 'x', { agent_id: 'a1' }]) {
      const batch = await manifest(given);
      expect([batch.manifest, batch.events.length]).toEqual(['refused', 1]);
    }
  });

  it('whose patterns are over 2,000 or 64 KiB together is refused, and the events are kept', async () => {
    const many = (count: number, length: number) =>
      Array.from({ length: Math.ceil(count / 100) }, (_, i) => ({
        ...contracts[0],
        id: `c${i}`,
        tool: Array.from({ length: Math.min(100, count - 100 * i) }, () => '*'.padEnd(length, 'x')),
      }));
    for (const [count, length, refused] of [
      [2000, 32, false],
      [2001, 1, true],
      [65, 1024, true],
      [64, 1024, false],
    ] as const) {
      const batch = await manifest({ contracts: many(count, length) });
      expect([count, batch.manifest === 'refused', batch.events.length]).toEqual([count, refused, 1]);
    }
  });

  it('keeps the contracts that can be read', async () => {
    const given = [contracts[0], 7, { id: 'b', type: 'odd' }, { id: 's', type: 'session', tool: ['x', 7] }];
    expect((await manifest({ contracts: given })).manifest).toMatchObject({
      contracts: [{ id: 'a' }, { id: 's', tool: ['x'], mode: 'enforce' }],
    });
  });
});

describe('random batches', () => {
  const hostile = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('\u0000', '\ud800', '__proto__', 'constructor', '../..', 'NaN', 'x'.repeat(300), '"\\'),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(fc.string(), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom('__proto__', 'a', '\u0000'), fc.string({ unit: 'binary' })),
  );
  const names = ['call_id', 'agent_id', 'tool_name', 'verdict', 'mode', 'timestamp', 'payload'];
  const odd = fc.oneof(
    fc.dictionary(fc.constantFrom(...names), hostile).map((map) => ({ ...map })),
    hostile,
  );

  it('keep every good event as it was sent, wherever the bad ones stand', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(odd, { nil: undefined }), { maxLength: 40 }), async (list) => {
        const sent = list.map((bad, i) =>
          bad === undefined ? { ...event, call_id: `good-${i}`, payload: { text: 'a\u0000\ud800', i } } : bad,
        );
        const { events, places, rejected } = await read(JSON.stringify({ events: sent }));
        expect(events.length + rejected.length).toBe(sent.length);
        const at = new Map(places.map((place, i) => [place, events[i]]));
        for (const [i, bad] of list.entries()) {
          if (bad === undefined)
            expect(at.get(i)).toEqual({
              ...kept,
              callId: `good-${i}`,
              payload: { text: 'a\u0000\ud800', i },
            });
        }
        // A socket's message is read the same way.
        expect(readParsedBatch(JSON.parse(JSON.stringify({ events: sent })), context).events).toEqual(events);
      }),
      { numRuns: runsOf(300, 60) },
    );
  });
});
