// Streams of frames among which stored events come: who returns is sent those that it missed, and waits for nothing
// else meanwhile.
import { expect, it } from 'vitest';
import type { StoredEvent } from '../../../src/event/record.ts';
import type { EventSource, History } from '../../../src/http/contract/stream.ts';
import { type DecisionSource, eventsOf, type Frame } from '../../../src/shared/frame.ts';
import { comparePositions, readId } from '../../../src/shared/position.ts';
import { settled } from '../../clock.ts';
import { writeFrame } from '../../frames.ts';
import { agents, bundleFrame, hub } from './fixtures.ts';

const audience = eventsOf('t1');

/** Events in memory, whose reading a test can hold up. */
function source() {
  const stored: Frame[] = [];
  const deliver: ((placed: { position: string; frame: Frame }) => void | Promise<void>)[] = [];
  const state = { reads: 0, gone: false, pageSize: 2, held: 0, reading: Promise.resolve() };
  const event = (seq: number, agent = 'a', size = 0): Frame => ({
    ...writeFrame({ audience, type: '', data: { type: 'x', seq, filler: 'x'.repeat(size) } }),
    event: { id: `event ${seq}`, seq, agentId: agent } as StoredEvent,
  });
  const events: EventSource = {
    async follow(_audience, take) {
      deliver.push(take);
      return { position: String(stored.length), stop: () => {} };
    },
    history(_audience, place): History {
      let next = place;
      const given = new Set<number>();
      return {
        async next() {
          if (++state.reads === state.held) await state.reading;
          if (state.gone) return 'gone';
          const found = stored.slice(next).filter(({ event }) => !given.has(event?.seq ?? 0));
          const page = found.slice(0, state.pageSize);
          for (const { event } of page) given.add(event?.seq ?? 0);
          next += page.length;
          const frames = page.map((frame) => ({ position: String(frame.event?.seq), frame }));
          return { frames, more: found.length > page.length };
        },
        async again() {
          next = Math.max(0, next - 1);
        },
      };
    },
  };
  const decisions: DecisionSource = {
    audience,
    toFrame: (frame) => ({
      ...frame,
      type: 'decision',
      audience: agents,
      agent: frame.event?.agentId ?? '',
    }),
  };
  return {
    events,
    decisions,
    state,
    /** Holds up the read of this number. @returns what lets it go on */
    hold(read: number): () => void {
      let release = (): void => {};
      state.held = read;
      state.reading = new Promise((resolve) => {
        release = resolve;
      });
      return () => release();
    },
    /** Stores an event; those who follow hear of it. */
    async add(agent?: string, size?: number) {
      const frame = event(stored.length + 1, agent, size);
      stored.push(frame);
      for (const take of deliver) void take({ position: String(frame.event?.seq), frame });
      await settled();
    },
  };
}

const told = (frames: { id: string; type: string; data: { [key: string]: unknown } }[]) =>
  frames.map(({ type, data }) => (type === 'decision' ? data.seq : type));
const places = (frames: { id: string }[]) => frames.map(({ id }) => id.split('~')[1]);
async function allSettled(): Promise<void> {
  for (let i = 0; i < 50; i++) await settled();
}

it('sends rulesets at once while missed events are read, under ids that lose none of either', async () => {
  const { events, decisions, hold, add } = source();
  const { open, broadcast } = hub({ events });
  const first = await open({ agent: 'a', decisions });
  await add();
  const id = first.socket.frames().at(-1)?.id ?? '';
  first.session.gone();
  await add();
  await add('other');
  await add();
  const release = hold(1);
  const again = await open({ agent: 'a', decisions, lastEventId: id });
  await broadcast.publish([bundleFrame('b', 1)]);
  await add();
  await allSettled();
  // The client has the update, and events up to the first: it is told so.
  expect(told(again.socket.frames())).toEqual(['contract_update']);
  expect(places(again.socket.frames())).toEqual(['1']);
  release();
  await allSettled();
  await add();
  await broadcast.publish([bundleFrame('b', 2)]);
  const frames = again.socket.frames();
  expect(told(frames)).toEqual(['contract_update', 2, 4, 5, 6, 'contract_update']);
  expect(places(frames)).toEqual(['1', '2', '4', '5', '6', '6']);
  // A frame after the update shows that the client has it.
  const positions = frames.map(({ id: text }) => text.split('~')[0]);
  expect(new Set(positions.slice(0, 5)).size).toBe(1);
});

it('keeps ids rising when another frame arrives during the join', async () => {
  const { events, decisions, add } = source();
  const { open, broadcast } = hub({ events });
  const first = await open({ agent: 'a', decisions });
  await add();
  const id = first.socket.frames().at(-1)?.id ?? '';
  first.session.gone();
  await add();
  await broadcast.publish([bundleFrame('b', 1)]);
  const since = broadcast.since.bind(broadcast);
  broadcast.since = async (...place) => {
    const replay = await since(...place);
    await broadcast.publish([bundleFrame('c', 1)]);
    return replay;
  };
  const again = await open({ agent: 'a', decisions, lastEventId: id });
  await allSettled();
  const frames = again.socket.frames();
  expect(told(frames)).toEqual(['contract_update', 'contract_update', 2]);
  const positions = frames.map((frame) => readId(frame.id).position);
  expect(positions).toEqual(positions.toSorted(comparePositions));
});

it('says so where events cannot be told, and goes on with new ones', async () => {
  const { events, decisions, state, add } = source();
  const { open } = hub({ events });
  const first = await open({ agent: 'a', decisions });
  await add();
  const id = first.socket.frames().at(-1)?.id ?? '';
  first.session.gone();
  await add();
  state.gone = true;
  const again = await open({ agent: 'a', decisions, lastEventId: id });
  await allSettled();
  expect(again.socket.written.join('')).toContain('resync');
  await add();
  expect(told(again.socket.frames()).filter((one) => typeof one === 'number')).toEqual([3]);
});

it('reads again what came meanwhile when that was more than a stream may have waiting', async () => {
  const { events, decisions, state, hold, add } = source();
  const { open } = hub({ events });
  const first = await open({ agent: 'a', decisions });
  await add();
  const id = first.socket.frames().at(-1)?.id ?? '';
  first.session.gone();
  await add();
  // The first read tells of what was missed, the second of what came during the first.
  const release = hold(2);
  const again = await open({ agent: 'a', decisions, lastEventId: id });
  expect(state.reads).toBe(2);
  for (let i = 0; i < 6; i++) await add('a', 100_000);
  release();
  await allSettled();
  await add();
  const seen = told(again.socket.frames());
  expect(seen).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
  expect(again.socket.over).toBeNull();
});

it('writes to a full connection only once it takes more, after what waits', async () => {
  const { events, decisions, hold, add } = source();
  const { open, broadcast } = hub({ events });
  const first = await open({ agent: 'a', decisions });
  await add();
  const id = first.socket.frames().at(-1)?.id ?? '';
  first.session.gone();
  for (let i = 0; i < 3; i++) await add();
  const release = hold(1);
  const again = await open({ agent: 'a', decisions, lastEventId: id });
  again.socket.full = true;
  await broadcast.publish([bundleFrame('b', 1), bundleFrame('c', 1)]);
  release();
  await allSettled();
  expect(told(again.socket.frames())).toEqual(['contract_update']);
  again.socket.full = false;
  again.session.writable();
  await allSettled();
  const frames = again.socket.frames();
  expect(told(frames)).toEqual(['contract_update', 'contract_update', 2, 3, 4]);
  expect(places(frames)).toEqual(['1', '1', '2', '3', '4']);
});
