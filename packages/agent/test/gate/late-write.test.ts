// A gate that is slow between the opening of the file of events and its write, beside the process that delivers them.
import { appendFileSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { GateState } from '../../src/cli/gate/state.ts';
import { FakeHub } from '../fake-hub.ts';

/** Called once, at the next file that is opened or removed. */
const pauses = vi.hoisted(() => ({ afterOpening: () => {}, beforeRemoving: (_path: string) => {} }));
vi.mock('node:fs', async (load) => {
  const fs = await load<typeof import('node:fs')>();
  return {
    ...fs,
    openSync: (...args: Parameters<typeof fs.openSync>) => {
      const file = fs.openSync(...args);
      const pause = pauses.afterOpening;
      pauses.afterOpening = () => {};
      pause();
      return file;
    },
    rmSync: (...args: Parameters<typeof fs.rmSync>) => {
      pauses.beforeRemoving(String(args[0]));
      fs.rmSync(...args);
    },
  };
});

// Tests that ran before in this process may have loaded them without the pauses.
vi.resetModules();
const { deliver } = await import('../../src/cli/gate/refresh.ts');
const { GateState: PausedState } = await import('../../src/cli/gate/state.ts');

let folder = '';
let state: GateState;
let hub: FakeHub;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'late-write-'));
  state = new PausedState(folder, 'test');
  hub = await new FakeHub().start();
  hub.on('POST /events', { body: { accepted: 1, duplicates: 0 } });
});
afterEach(async () => {
  pauses.beforeRemoving = () => {};
  await hub.stop();
  rmSync(folder, { recursive: true, force: true });
});

const eventOf = (id: string): string => JSON.stringify({ call_id: id, verdict: 'call_allowed' });

it('a gate whose file of events was taken away before its write writes again, once', () => {
  state.appendEvent(eventOf('first'));
  pauses.afterOpening = () => {
    renameSync(state.path('events.jsonl'), state.path('moving.jsonl'));
    rmSync(state.path('moving.jsonl'));
  };
  state.appendEvent(eventOf('late'));
  expect(readFileSync(state.path('events.jsonl'), 'utf8')).toBe(`${eventOf('late')}\n`);
});

it('a line that a gate writes while its file is removed is delivered, once', async () => {
  state.appendEvent(eventOf('first'));
  pauses.beforeRemoving = (path) => {
    if (path === state.path('moving.jsonl')) appendFileSync(path, `${eventOf('late')}\n`);
  };
  const plan = { hub: null, bundleName: null, contracts: [], state: folder, guard: {}, scope: 'test' };
  await deliver(plan, { url: hub.url, apiKey: 'key', agentId: 'laptop' }, state);
  const ids = hub
    .seen('POST /events')
    .flatMap(({ body }) => (body.events as { call_id: string }[]).map(({ call_id }) => call_id));
  expect(ids).toEqual(['first', 'late']);
});
