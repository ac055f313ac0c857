// Every broadcast's promises (shared/ports/broadcast): order, once each, positions that can be gone back to.
import { describe, expect, it } from 'vitest';
import {
  type Audience,
  agentsOf,
  type Control,
  dashboardsOf,
  type Frame,
  type FrameHeader,
} from '../../src/shared/frame.ts';
import type { Broadcast, BroadcastEntry } from '../../src/shared/ports/broadcast.ts';
import { isAfter, isPosition } from '../../src/shared/position.ts';
import { readFrame, writeFrame } from '../frames.ts';
import { hostileTexts, uuid } from './fixtures.ts';

export interface OpenBroadcast {
  readonly broadcast: Broadcast;
  /** The broadcast of another node, or the same one where there is but one. */
  readonly other: Broadcast;
  /** How many frames an audience's log keeps. */
  readonly keepFrames: number;
  close(): Promise<void>;
}

export const aFrame = (
  audience: Audience,
  n: unknown,
  data: object = {},
  header: Partial<FrameHeader> = {},
): Frame =>
  writeFrame({
    audience,
    type: 'contract_update',
    data: { type: 'contract_update', n, ...data },
    ...header,
  });

/** Collects what a follower is given; `reached` resolves when there are n, and fails loudly after 10 s. */
export function collector<T>(): {
  readonly got: T[];
  readonly deliver: (item: T) => void;
  reached(n: number): Promise<readonly T[]>;
} {
  const got: T[] = [];
  let check = () => {};
  return {
    got,
    deliver(item) {
      got.push(item);
      check();
    },
    reached: (n) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`${got.length} of ${n} arrived`)), 10_000);
        check = () => {
          if (got.length < n) return;
          clearTimeout(timer);
          resolve(got);
        };
        check();
      }),
  };
}

export const numbers = (placed: readonly BroadcastEntry[]): unknown[] =>
  placed.map((p) => readFrame(p.frame).data.n);

export function broadcastContract(name: string, open: () => Promise<OpenBroadcast>): void {
  const using = (test: (opened: OpenBroadcast) => Promise<void>) => async () => {
    const opened = await open();
    try {
      await test(opened);
    } finally {
      await opened.close();
    }
  };
  const rising = (placed: readonly BroadcastEntry[]) => {
    for (const [i, { position }] of placed.entries()) {
      expect(position).toSatisfy(isPosition);
      expect(isAfter(position, placed[i - 1]?.position ?? '0-0')).toBe(true);
    }
  };

  describe(`${name}: broadcast`, () => {
    it(
      'a follower gets each frame once, in order, on every node',
      using(async ({ broadcast, other }) => {
        const audience = agentsOf(uuid(), 'production');
        const [here, there] = [collector<BroadcastEntry>(), collector<BroadcastEntry>()];
        await broadcast.follow(audience, here.deliver);
        await other.follow(audience, there.deliver);
        for (let i = 0; i < 20; i++) await broadcast.publish([aFrame(audience, i)]);
        await other.publish([aFrame(audience, 20), aFrame(audience, 21), aFrame(audience, 22)]);
        const expected = Array.from({ length: 23 }, (_, i) => i);
        for (const side of [here, there]) {
          expect(numbers(await side.reached(23))).toEqual(expected);
          rising(side.got);
        }
        expect(here.got.map((p) => p.position)).toEqual(there.got.map((p) => p.position));
      }),
    );

    it(
      'a frame comes whole, its bytes as they were, whatever it holds',
      using(async ({ broadcast }) => {
        const audience = dashboardsOf(uuid());
        const { deliver, reached } = collector<BroadcastEntry>();
        await broadcast.follow(audience, deliver);
        const json = Buffer.from(
          `{"type":"x","__proto__":{"a":[1.50,null,true]},"t":${JSON.stringify(hostileTexts)}}`,
        );
        const frames: Frame[] = [
          { audience, type: 'x', json, agent: 'ä"gent', bundle: 'base' },
          { audience, type: 'approval_created', json: Buffer.from('{}') },
          { audience, type: '', json: Buffer.from(`{"t":"${'x'.repeat(70_000)}"}`), bundle: '' },
          { audience, type: 'y', json: Buffer.from('{"a":1}'), agent: '', assigned: null },
          { audience, type: 'y', json: Buffer.from('{"a":1}'), agent: 'a', bundle: 'b', assigned: 'c' },
          { audience, type: 'z', json: Buffer.from('{"a":1}'), envs: ['staging'] },
          { audience, type: 'z', json: Buffer.from('{"a":1}'), fleet: 'staging', envs: ['staging'] },
          { audience, type: 'z', json: Buffer.from('{"a":1}'), tools: true, envs: ['production', 'staging'] },
        ];
        await broadcast.publish(frames);
        const got = (await reached(frames.length)).map((p) => p.frame);
        expect(got.map(({ json: _, ...header }) => header)).toEqual(frames.map(({ json: _, ...h }) => h));
        expect(
          got.map((frame) => Buffer.compare(frame.json, frames[got.indexOf(frame)]?.json ?? json)),
        ).toEqual(frames.map(() => 0));
      }),
    );

    it(
      'audiences are apart, and one publish can reach several',
      using(async ({ broadcast }) => {
        const tenantId = uuid();
        const audiences = [
          agentsOf(tenantId, 'production'),
          agentsOf(tenantId, 'staging'),
          dashboardsOf(tenantId),
        ];
        const sides = audiences.map(() => collector<BroadcastEntry>());
        for (const [i, audience] of audiences.entries()) {
          await broadcast.follow(audience, sides[i]?.deliver ?? (() => {}));
        }
        await broadcast.publish([...audiences, ...audiences].map((audience, i) => aFrame(audience, i)));
        for (const [i, side] of sides.entries()) expect(numbers(await side.reached(2))).toEqual([i, i + 3]);
      }),
    );

    it(
      'following begins at the end of the log, and what is published after it is delivered',
      using(async ({ broadcast, other }) => {
        const audience = dashboardsOf(uuid());
        await broadcast.publish([aFrame(audience, 'before')]);
        const first = collector<BroadcastEntry>();
        await broadcast.follow(audience, first.deliver);
        for (let i = 0; i < 20; i++) {
          const late = collector<BroadcastEntry>();
          const published = other.publish([aFrame(audience, `during ${i}`)]);
          const following = await broadcast.follow(audience, late.deliver);
          await published;
          await other.publish([aFrame(audience, `after ${i}`)]);
          await first.reached(2 * (i + 1));
          const missed = await broadcast.since(audience, following.position);
          if (missed === 'gone') throw new Error('gone');
          await late.reached(missed.length);
          expect(numbers(late.got)).toEqual(numbers(missed));
          expect(numbers(missed).at(-1)).toBe(`after ${i}`);
          following.stop();
        }
      }),
    );

    it(
      'one that stopped gets no more, and the others go on',
      using(async ({ broadcast }) => {
        const audience = dashboardsOf(uuid());
        const [a, b] = [collector<BroadcastEntry>(), collector<BroadcastEntry>()];
        const following = await broadcast.follow(audience, a.deliver);
        const second = await broadcast.follow(audience, b.deliver);
        await broadcast.publish([aFrame(audience, 1)]);
        await Promise.all([a.reached(1), b.reached(1)]);
        following.stop();
        following.stop();
        await broadcast.publish([aFrame(audience, 2)]);
        await b.reached(2);
        second.stop();
        const again = collector<BroadcastEntry>();
        await broadcast.follow(audience, again.deliver);
        await broadcast.publish([aFrame(audience, 3)]);
        expect(numbers(await again.reached(1))).toEqual([3]);
        expect(numbers(a.got)).toEqual([1]);
        expect(numbers(b.got)).toEqual([1, 2]);
      }),
    );

    it(
      'a follower that throws keeps nothing from the others or itself',
      using(async ({ broadcast }) => {
        const audience = dashboardsOf(uuid());
        const { deliver, reached } = collector<BroadcastEntry>();
        await broadcast.follow(audience, () => {
          throw new Error('a bad follower');
        });
        await broadcast.follow(audience, deliver);
        await broadcast.publish([aFrame(audience, 1)]);
        await broadcast.publish([aFrame(audience, 2)]);
        expect(numbers(await reached(2))).toEqual([1, 2]);
      }),
    );

    it(
      'what came after a position can be had again, from any position the log gave',
      using(async ({ broadcast, other }) => {
        const audience = dashboardsOf(uuid());
        const { deliver, reached } = collector<BroadcastEntry>();
        const { position } = await broadcast.follow(audience, deliver);
        expect(await broadcast.since(audience, position)).toEqual([]);
        for (let i = 0; i < 5; i++) await broadcast.publish([aFrame(audience, i)]);
        const got = await reached(5);
        expect(await other.since(audience, position)).toEqual(got);
        for (const [i, placed] of got.entries()) {
          expect(await broadcast.since(audience, placed.position)).toEqual(got.slice(i + 1));
          expect(await broadcast.since(audience, `${placed.position}.3`)).toEqual(got.slice(i + 1));
        }
      }),
    );

    it(
      'a frame with an idempotency key comes once to each audience, whoever repeats it, and without its key',
      using(async ({ broadcast, other }) => {
        const tenantId = uuid();
        const [agents, dashboards] = [agentsOf(tenantId, 'production'), dashboardsOf(tenantId)];
        const [here, there] = [collector<BroadcastEntry>(), collector<BroadcastEntry>()];
        await broadcast.follow(agents, here.deliver);
        await other.follow(dashboards, there.deliver);
        const named = (n: number, idempotencyKey: string) => [
          aFrame(agents, n, {}, { idempotencyKey }),
          aFrame(dashboards, n, {}, { idempotencyKey }),
        ];
        await broadcast.publish([...named(1, 'a'), ...named(1, 'a')]);
        await Promise.all(Array.from({ length: 10 }, () => other.publish(named(1, 'a'))));
        await other.publish([...named(2, 'b'), aFrame(agents, 3), ...named(2, 'b')]);
        for (const key of hostileTexts) await broadcast.publish(named(4, key));
        await other.publish([aFrame(agents, 'end'), aFrame(dashboards, 'end')]);
        const keys = new Set(hostileTexts.filter((text) => text !== '')).size;
        const none = hostileTexts.filter((text) => text === '').length;
        const fours = Array.from({ length: keys + none }, () => 4);
        expect(numbers(await here.reached(4 + fours.length))).toEqual([1, 2, 3, ...fours, 'end']);
        expect(numbers(await there.reached(3 + fours.length))).toEqual([1, 2, ...fours, 'end']);
        expect(here.got[0]?.frame).toEqual(aFrame(agents, 1));
      }),
    );

    it(
      'a position that the log never had is gone',
      using(async ({ broadcast }) => {
        const audience = dashboardsOf(uuid());
        await broadcast.publish([aFrame(audience, 1)]);
        const bad = ['0-1', '1-0', '999999999999999-0', '', 'x', '-', '$', '+', '(1-0', '1', ...hostileTexts];
        for (const position of bad) expect(await broadcast.since(audience, position)).toBe('gone');
        expect(await broadcast.since(dashboardsOf(uuid()), '1700000000000-0')).toBe('gone');
      }),
    );

    it(
      'a position from before what the log keeps is gone, and one within is not',
      using(async ({ broadcast, keepFrames }) => {
        const audience = dashboardsOf(uuid());
        const { deliver, reached } = collector<BroadcastEntry>();
        const { position } = await broadcast.follow(audience, deliver);
        for (let i = 0; i < keepFrames; i++) await broadcast.publish([aFrame(audience, i)]);
        expect(await broadcast.since(audience, position)).toHaveLength(keepFrames);
        await broadcast.publish([aFrame(audience, keepFrames)]);
        const got = await reached(keepFrames + 1);
        expect(await broadcast.since(audience, position)).toBe('gone');
        expect(await broadcast.since(audience, got[0]?.position ?? '')).toEqual(got.slice(1));
        await broadcast.publish([aFrame(audience, keepFrames + 1)]);
        expect(await broadcast.since(audience, got[0]?.position ?? '')).toBe('gone');
      }),
    );

    it(
      'a control message reaches every node, the sender included, and no follower',
      using(async ({ broadcast, other }) => {
        const [here, there] = [collector<Control>(), collector<Control>()];
        broadcast.onControl(here.deliver);
        other.onControl(there.deliver);
        const messages: Control[] = [
          { kind: 'key_revoked', tenantId: uuid(), keyId: uuid(), keyHash: uuid() },
          { kind: 'login_ended', tokenHash: uuid() },
          { kind: 'user_logins_ended', userId: uuid() },
        ];
        for (const message of messages) await broadcast.control(message);
        expect(await here.reached(3)).toEqual(messages);
        expect(await there.reached(3)).toEqual(messages);
      }),
    );

    it(
      'publishing nothing is harmless, and closing ends it',
      using(async ({ broadcast }) => {
        await broadcast.publish([]);
        await broadcast.close();
        await expect(broadcast.publish([aFrame(dashboardsOf(uuid()), 1)])).rejects.toMatchObject({
          name: 'HubError',
        });
        await expect(broadcast.follow(dashboardsOf(uuid()), () => {})).rejects.toMatchObject({
          name: 'HubError',
        });
      }),
    );
  });
}
