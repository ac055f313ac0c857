// Long reads on the reader's connection: they take turns with short ones, and end when they take too long.
import { expect, it } from 'vitest';
import type { Steps } from '../../../adapters/sqlite/sync.ts';
import { type Connection, serveReads } from '../../../adapters/sqlite/threads/serve.ts';
import type { ThreadReply } from '../../../adapters/sqlite/threads/wire.ts';
import { maxSearchMs } from '../../../src/event/record.ts';

function served() {
  let now = 0;
  const turns: (() => void)[] = [];
  const replies: ThreadReply[] = [];
  let ended = 0;
  let steps = 0;
  function* endless(): Steps<string> {
    try {
      for (;;) {
        steps++;
        yield;
      }
    } finally {
      ended++;
    }
  }
  const events = { search: endless, get: () => 'short' };
  const connection = {
    stores: { events },
    answer: (list) => replies.push(...list),
    later: (task) => turns.push(task),
  } as Pick<Connection, 'answer' | 'later'> & { readonly stores: unknown };
  const server = serveReads(connection as Connection, () => now);
  return {
    ask: (id: number, method: 'search' | 'get') => server.accept([[id, 'events', method, []]]),
    turn: () => turns.shift()?.(),
    pass: (ms: number) => {
      now += ms;
    },
    seen: () => ({ steps, ended, replies: replies.map(([id, ok, value]) => [id, ok, value]) }),
  };
}

it('one step of one long read comes between short ones', () => {
  const { ask, turn, seen } = served();
  for (const id of [1, 2, 3]) ask(id, 'search');
  turn();
  expect(seen().steps).toBe(1);
  ask(4, 'get');
  expect(seen().replies).toEqual([[4, true, 'short']]);
  for (let i = 0; i < 5; i++) turn();
  expect(seen().steps).toBe(6);
});

it('a long read that takes too long is ended, and the others go on', () => {
  const { ask, turn, pass, seen } = served();
  ask(1, 'search');
  pass(maxSearchMs);
  ask(2, 'search');
  turn();
  expect(seen()).toMatchObject({ ended: 0, replies: [] });
  pass(1);
  for (let i = 0; i < 4; i++) turn();
  expect(seen().ended).toBe(1);
  expect(seen().replies).toEqual([[1, false, expect.objectContaining({ code: 'search_timeout' })]]);
});
