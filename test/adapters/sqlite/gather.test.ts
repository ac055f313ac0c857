// Gathered calls: how they share messages to a thread of the store, and that each fails alone.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../../../adapters/node/clock.ts';
import { failureOf } from '../../../adapters/sqlite/failure.ts';
import { openSqlite } from '../../../adapters/sqlite/index.ts';
import { type CallResult, type GatherOptions, gatherCalls } from '../../../adapters/sqlite/threads/gather.ts';
import { HubError } from '../../../src/shared/error.ts';
import { startTestThread } from './start.ts';

type Args = readonly unknown[];

/** A thread that answers when it is told to, each call with its own arguments. */
function slowThread() {
  const sent: { readonly all: readonly Args[]; readonly answer: () => void }[] = [];
  const failures: string[] = [];
  const outcomeOf = (args: Args): CallResult =>
    args[1] === 'bad' ? [false, failureOf(new HubError('conflict', 'It is taken.'))] : [true, args];
  const options: GatherOptions = {
    send: (_store, _method, all) =>
      new Promise((resolve) => {
        sent.push({ all, answer: () => resolve(all.map(outcomeOf)) });
      }),
    onFailure: ({ code }) => failures.push(code),
  };
  return { sent, failures, call: gatherCalls(options) };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('leaves other methods alone', () => {
  expect(slowThread().call('agents', 'get', ['t', 'a'])).toBeNull();
});

it('sends what comes while a message is under way in the next one, in order', async () => {
  const { sent, call } = slowThread();
  const first = call('agents', 'noteSeen', ['t', 'a']);
  await turn();
  const later = [call('agents', 'noteSeen', ['t', 'b']), call('agents', 'noteSeen', ['t', 'c'])];
  await turn();
  expect(sent.map(({ all }) => all)).toEqual([[['t', 'a']]]);
  sent[0]?.answer();
  expect(await first).toEqual(['t', 'a']);
  await turn();
  sent[1]?.answer();
  expect(await Promise.all(later)).toEqual([
    ['t', 'b'],
    ['t', 'c'],
  ]);
  expect(sent).toHaveLength(2);
});

it('has half of a returning fleet under way while the answers to the other half are worked on', async () => {
  const { sent, call } = slowThread();
  const calls = Array.from({ length: 512 }, (_, i) => call('agents', 'noteSeen', ['t', `agent-${i}`]));
  await turn();
  expect(sent.map(({ all }) => all.length)).toEqual([256]);
  sent[0]?.answer();
  await calls[255];
  expect(sent.map(({ all }) => all.length)).toEqual([256, 256]);
  sent[1]?.answer();
  expect(await calls[511]).toEqual(['t', 'agent-511']);
});

it('refuses the one call that failed', async () => {
  const { sent, failures, call } = slowThread();
  const calls = Promise.allSettled([
    call('agents', 'noteSeen', ['t', 'a']),
    call('agents', 'noteSeen', ['t', 'bad']),
    call('agents', 'noteSeen', ['t', 'c']),
  ]);
  await turn();
  sent[0]?.answer();
  expect((await calls).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(failures).toEqual(['conflict']);
});

it('asks once more for all who came while it was asked, and for each set of arguments by itself', async () => {
  const { sent, call } = slowThread();
  const early = [call('rules', 'list', ['t']), call('rules', 'list', ['u'])];
  const late = [call('rules', 'list', ['t']), call('rules', 'list', ['t'])];
  await turn();
  expect(sent.map(({ all }) => all)).toEqual([[['t'], ['u']]]);
  sent[0]?.answer();
  expect(await Promise.all(early)).toEqual([['t'], ['u']]);
  await turn();
  expect(sent[1]?.all).toEqual([['t']]);
  sent[1]?.answer();
  expect(await Promise.all(late)).toEqual([['t'], ['t']]);
});

it('registers more agents at once than calls may wait for a thread', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'store-'));
  const store = await openSqlite({
    path: join(folder, 'hub.db'),
    clock: systemClock,
    startThread: startTestThread,
    maxQueuedWrites: 16,
  });
  try {
    const names = Array.from({ length: 3000 }, (_, i) => `agent-${i}`);
    const seen = await Promise.all(
      names.map((name) => store.agents.noteSeen('t', name, 'production', 5, `id-${name}`)),
    );
    const registration = { bundleName: null, tags: {}, retiredAt: null };
    expect(seen).toEqual(names.map(() => ({ registration, isNew: true })));
    expect(await store.agents.get('t', 'agent-2999')).toMatchObject({ lastSeenAt: 5 });
    expect(await store.agents.count('t')).toBe(3000);
    const again = await Promise.all(
      names.map((name) => store.agents.noteSeen('t', name, 'staging', 6, 'other')),
    );
    expect(again.filter(({ isNew }) => isNew)).toEqual([]);
    expect(await store.agents.get('t', 'agent-7')).toMatchObject({ id: 'id-agent-7', lastEnv: 'staging' });
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
});
