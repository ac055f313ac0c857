// An event that is shortened before it is parsed becomes what it would have become when parsed whole, and
// the work pauses.
import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isFlat, repairEitherForm, repairFlatEvent } from '../../src/event/console/forms.ts';
import { shortenEvent } from '../../src/event/rules/large.ts';
import { maxPayload } from '../../src/event/rules/payload-fit.ts';
import { type RepairContext, type Shortened, shortName } from '../../src/event/rules/repair.ts';
import { pauseEvery } from '../../src/shared/json/outline.ts';
import { parseSpans } from '../../src/shared/json/scan.ts';
import { materialOf, shapes } from '../body-material.ts';
import { type Random, random } from '../random.ts';
import { rowsOfRun, runsOf } from '../runs.ts';

const context: RepairContext = {
  agentId: 'agent',
  now: Date.parse('2026-05-01T00:00:00Z'),
  sha256: (text) => hash('sha256', text, 'hex'),
};
const forms = {
  console: { isFlat, repair: repairEitherForm },
  hosted: { isFlat: () => true, repair: repairFlatEvent },
} as const;
type Form = keyof typeof forms;

interface Shortening {
  readonly value: unknown;
  readonly shortened: Shortened;
  readonly bytes: number;
  readonly pauses: number;
}

function shorten(json: string, form: Form = 'console'): Shortening {
  const source = Buffer.from(` ${json} `);
  const span = { start: 1, end: source.length - 1, depth: 2 };
  const steps = shortenEvent(source, span, { ...forms[form], sha256: context.sha256 });
  let pauses = 0;
  let step = steps.next();
  for (; !step.done; step = steps.next()) pauses++;
  const { json: short, shortened } = step.value;
  const [value] = parseSpans(short, [{ start: 0, end: short.byteLength, depth: 2 }]).values;
  return { value, shortened, bytes: short.byteLength, pauses };
}

/** The event as the hub stores it. */
function stored(json: string, form: Form = 'console') {
  const { value, shortened } = shorten(json, form);
  const repaired = forms[form].repair(value, context, 2, shortened);
  if (!('event' in repaired)) throw new Error(repaired.code);
  return repaired.event;
}

function parsedWhole(value: unknown, form: Form) {
  const repaired = forms[form].repair(value, context, 2);
  if (!('event' in repaired)) throw new Error(repaired.code);
  return repaired.event;
}

const head = { call_id: 'call', agent_id: 'a', tool_name: 'shell', timestamp: '2026-04-30T12:00:00Z' };

function anyValue(pen: Random): unknown {
  switch (pen.int(6)) {
    case 0:
      return 'é'.repeat(pen.int(9000)) + '😀'.repeat(pen.int(5000));
    case 1:
      return 'x'.repeat(pen.pick([127, 128, 129, 1023, 1024, 1025, 8191, 8192, 8193, 70_000]));
    case 2:
      return Array.from({ length: pen.int(40) }, () => 'word '.repeat(pen.int(400)));
    case 3:
      return Object.fromEntries(Array.from({ length: pen.int(3000) }, (_, i) => [`m${i}`, i]));
    case 4:
      return { command: ['a', { deep: 'y'.repeat(pen.int(20_000)) }], on: true, none: null, at: 1.5e-7 };
    default:
      return pen.int(1000);
  }
}

const fieldsOf = (pen: Random, prefix: string) =>
  Object.fromEntries(Array.from({ length: 1 + pen.int(8) }, (_, i) => [`${prefix}${i}`, anyValue(pen)]));

/** Events of both forms. */
function eventOf(pen: Random): object {
  const large = { large: 'z'.repeat(100_000) };
  switch (pen.int(4)) {
    case 0:
      return { ...head, verdict: 'call_allowed', payload: { ...fieldsOf(pen, 'f'), ...large } };
    case 1:
      return { ...head, action: 'call_blocked', ...fieldsOf(pen, 'f'), ...large };
    case 2:
      return {
        ...head,
        action: 'call_blocked',
        payload: { ...fieldsOf(pen, 'f'), ...large },
        ...fieldsOf(pen, 'f'),
      };
    default:
      return { ...head, verdict: 'call_allowed', payload: pen.pick([null, 7, 'x'.repeat(90_000)]), ...large };
  }
}

/** As Python's json.dumps writes it by default. */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

describe.each(['console', 'hosted'] as const)('%s form', (form) => {
  it('keeps, cuts and drops what it would if it were parsed whole', () => {
    const pen = random('large events');
    for (let i = 0; i < runsOf(60, 15); i++) {
      const event = eventOf(pen);
      const { callId: _, ...whole } = parsedWhole(event, form);
      for (const json of [JSON.stringify(event), JSON.stringify(event, null, 2), asciiJson(event)]) {
        const { callId: __, ...short } = stored(json, form);
        expect({ ...short, truncated: [...(short.truncated ?? [])].sort() }).toEqual({
          ...whole,
          truncated: [...(whole.truncated ?? [])].sort(),
        });
      }
    }
  });

  it('is still one event by its content, and another by another content', () => {
    const { call_id: _, ...nameless } = head;
    const json = (text: string) => JSON.stringify({ ...nameless, payload: { text: text.repeat(200_000) } });
    expect(stored(json('a'), form).callId).toBe(stored(json('a'), form).callId);
    expect(stored(json('a'), form).callId).not.toBe(stored(json('b'), form).callId);
  });

  // The forms differ in their members, not in how a shape is parsed: one of them has all shapes per commit.
  const finite = shapes.filter((shape) => shape !== 'abyss');
  it.each(rowsOfRun(finite, form === 'console' ? 3 : 2))(
    'parses little of 2 MiB, after many pauses: %s',
    (shape) => {
      const material = materialOf(shape, 2 * 1024 * 1024);
      for (const json of [
        `{"call_id":"c","payload":${material}}`,
        `{"call_id":"c","action":"call_allowed","tool_args":${material}}`,
        `{"call_id":${material},"agent_id":"a","payload":{"tool_args":[1]}}`,
      ]) {
        const { bytes, pauses } = shorten(json, form);
        expect(bytes).toBeLessThan(8 * maxPayload);
        expect(pauses).toBeGreaterThan((2 * json.length) / pauseEvery);
        expect(Buffer.byteLength(JSON.stringify(stored(json, form).payload))).toBeLessThanOrEqual(maxPayload);
      }
    },
  );
});

it('keeps a long name as a short one that is its own, and marks it', () => {
  const named = (text: string) =>
    stored(JSON.stringify({ ...head, agent_id: text, payload: { text: 'x'.repeat(100_000) } }));
  const [one, again, other] = [
    named(`${'n'.repeat(20_000)}1`),
    named(`${'n'.repeat(20_000)}1`),
    named(`${'n'.repeat(20_000)}2`),
  ];
  expect(one?.agentId).toBe(shortName(`${'n'.repeat(20_000)}1`, context.sha256));
  expect(again?.agentId).toBe(one?.agentId);
  expect(other?.agentId).not.toBe(one?.agentId);
  expect(one?.truncated).toContain('agent_id');
});

it('keeps a name that is too large to be parsed as a short one with a digest of its bytes', () => {
  const named = (last: string) => stored(`{"call_id":"${'n'.repeat(1_100_000)}${last}","payload":{}}`);
  expect(named('1').callId).toMatch(/^n{200}~[0-9a-f]{16}$/);
  expect(named('1').callId).toBe(named('1').callId);
  expect(named('2').callId).not.toBe(named('1').callId);
  expect(named('1').truncated).toEqual(['call_id']);
});

it('takes the last of repeated members, and keys that reach into prototypes as plain data', () => {
  const json = `{"call_id":"c","payload":{"a":1},"payload":{"a":"${'x'.repeat(90_000)}","__proto__":{"b":1},"a":2}}`;
  const { payload } = stored(json);
  expect(JSON.stringify(payload)).toBe('{"a":2,"__proto__":{"b":1}}');
});

it('never cuts within an escape or half of a pair', () => {
  for (let shift = 0; shift < 12; shift++) {
    const text = `${'x'.repeat(110 + shift)}${'\\ud83d\\ude00\\n\\u0001é😀\\\\'.repeat(15_000)}`;
    const { payload } = stored(`{"call_id":"c","payload":{"list":["${text}","${text}"]}}`);
    const [kept] = (payload as { list: string[] }).list;
    expect(kept).not.toMatch(/[\ud800-\udfff]/u);
    expect(JSON.parse(`"${text}"`).startsWith(kept?.slice(0, -1) ?? '')).toBe(true);
  }
});
