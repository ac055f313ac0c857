// Files of events whose last line a full disk cut: the lines after it are whole.
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { deliver } from '../../src/cli/gate/refresh.ts';
import { GateState } from '../../src/cli/gate/state.ts';
import { FakeHub } from '../fake-hub.ts';

let folder = '';
let state: GateState;
let hub: FakeHub;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'torn-line-'));
  state = new GateState(folder, 'test');
  hub = await new FakeHub().start();
  hub.on('POST /events', { body: { accepted: 1, duplicates: 0 } });
});
afterEach(async () => {
  await hub.stop();
  rmSync(folder, { recursive: true, force: true });
});

const eventOf = (id: string): string => JSON.stringify({ call_id: id, verdict: 'call_allowed' });
const torn = eventOf('torn').slice(0, 20);

/** Delivers what waits, and gives the ids of the events that the hub got. */
async function deliveredIds(): Promise<string[]> {
  const plan = { hub: null, bundleName: null, contracts: [], state: folder, guard: {}, scope: 'test' };
  await deliver(plan, { url: hub.url, apiKey: 'key', agentId: 'laptop' }, state);
  return hub
    .seen('POST /events')
    .flatMap(({ body }) => (body.events as { call_id: string }[]).map(({ call_id }) => call_id));
}

it('the event after a line that the disk took half is delivered', async () => {
  state.appendEvent(eventOf('first'));
  appendFileSync(state.path('events.jsonl'), torn);
  for (const id of ['next', 'last']) state.appendEvent(eventOf(id));
  const lines = [eventOf('first'), torn, eventOf('next'), eventOf('last'), ''];
  expect(readFileSync(state.path('events.jsonl'), 'utf8')).toBe(lines.join('\n'));
  expect(await deliveredIds()).toEqual(['first', 'next', 'last']);
});

it('events are copied whole behind a copy that the disk took half', async () => {
  writeFileSync(state.path('sending.jsonl'), `${eventOf('sent')}\n${torn}`);
  writeFileSync(state.path('moving.jsonl'), `${eventOf('moved')}\n`);
  expect(await deliveredIds()).toEqual(['sent', 'moved']);
});
