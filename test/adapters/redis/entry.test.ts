// Entries of the logs: what is written is read, also by and from nodes that know fewer items, and bytes that are no
// entry are no frame.
import { decode, encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readControl, readFrame, writeControl, writeFrame } from '../../../adapters/redis/entry.ts';
import { agentsOf, frameParts } from '../../../src/shared/frame.ts';

const audience = agentsOf('t1', 'production');
const json = (value: object) => Buffer.from(JSON.stringify(value));
/** Without the items behind the bundle. */
const shortEntry = (type: string, data: object, agent: string | null, bundle: string | null): Buffer =>
  Buffer.from(encode([type, JSON.stringify(data), agent, bundle]));

describe('an entry without items behind the bundle', () => {
  it('is the frame that it was, whatever the length of its data', () => {
    for (const length of [0, 20, 200, 60_000, 70_000]) {
      const data = { type: 'contract_update', text: 'ä'.repeat(length) };
      expect(readFrame(audience, shortEntry(data.type, data, null, 'base'))).toEqual({
        audience,
        type: data.type,
        json: json(data),
        bundle: 'base',
      });
    }
  });

  it('with a control message is that message', () => {
    const message = { kind: 'login_ended', tokenHash: 'h' };
    expect(readControl(shortEntry('control', message, null, null))).toEqual(message);
  });
});

describe('a node that reads four items', () => {
  it('finds type, data, agent and bundle where it looks for them', () => {
    const data = json({ type: 'assignment_changed', n: 'x'.repeat(300) });
    const entry = writeFrame({ type: 'assignment_changed', json: data, agent: 'a', assigned: 'b' });
    expect((decode(entry) as unknown[]).slice(0, 4)).toEqual([
      'assignment_changed',
      data.toString(),
      'a',
      null,
    ]);
    const control = { kind: 'user_logins_ended', userId: 'u' } as const;
    expect((decode(writeControl(control)) as unknown[])[1]).toBe(JSON.stringify(control));
  });
});

it.each(frameParts)('an entry of the part %s of a stream keeps it, and is addressed to no agent', (part) => {
  const data = json({ type: 'of_a_part' });
  const frame = { type: 'of_a_part', json: data, part, envs: ['staging'] } as const;
  const entry = writeFrame(frame);
  expect(readFrame(audience, entry)).toEqual({ audience, ...frame });
  expect((decode(entry) as unknown[])[2]).toBe('');
});

it('an entry of the fleet keeps its environment, and assigns nothing', () => {
  const data = json({ type: 'fleet_changed', env: 'staging' });
  const frame = { type: 'fleet_changed', json: data, fleet: 'staging' } as const;
  expect(readFrame(audience, writeFrame(frame))).toEqual({ audience, ...frame });
  expect(readFrame(audience, writeFrame({ ...frame, agent: 'a', assigned: null }))).toMatchObject({
    assigned: null,
    fleet: 'staging',
  });
});

it('an entry for streams of any assignment keeps that, and its bundle', () => {
  const data = json({ type: 'ruleset_updated' });
  const frame = { type: 'ruleset_updated', json: data, bundle: 'b', anyAssignment: true } as const;
  expect(readFrame(audience, writeFrame(frame))).toEqual({ audience, ...frame });
});

it('bytes that are no entry are no frame and no message, and throw nothing', () => {
  const whole = writeFrame({ type: 'x', json: json({ a: 1 }), agent: 'a', bundle: 'b' });
  for (let length = 0; length < whole.length - 2; length++) {
    expect(readFrame(audience, whole.subarray(0, length))?.bundle).toBeUndefined();
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      readFrame(audience, Buffer.from(bytes));
      expect(readControl(Buffer.from(bytes))).toBeNull();
    }),
  );
});
