// Servers' own states that are too long to travel inside the sealed state of a round.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FileStates, type LargeStates, MemoryStates } from '../src/rounds/large-states.ts';
import { RoundSeal, RoundStateError } from '../src/rounds/round-state.ts';
import { type RoundCall, Rounds } from '../src/rounds/rounds.ts';
import { MemoryNonces } from '../src/rounds/used-nonces.ts';
import { ManualClock } from './manual-clock.ts';

const call: RoundCall = { tool: 'read', args: { path: 'notes' }, session: 'one' };
const rounds = { callId: 'c-1', callIndex: 0, count: 1, isApproved: false, isCounted: true };
const long = 'ü'.repeat(50_000);

let folder = '';
let clock = new ManualClock();
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reeve-states-'));
  clock = new ManualClock();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const roundsOver = (states: LargeStates, seal: RoundSeal, nonces = new MemoryNonces(clock)): Rounds =>
  new Rounds({ seal, nonces, states, clock, server: 'files' });

describe.each([
  ['in memory', (): LargeStates => new MemoryStates(clock)],
  ['in files', (): LargeStates => new FileStates(join(folder, 'states'), clock)],
])('a long state %s', (_name, open) => {
  it('comes back with its round, once', async () => {
    const own = roundsOver(open(), new RoundSeal());
    const sealed = await own.carry(call, rounds, long);
    expect(sealed.length).toBeLessThan(8192);
    const round = await own.open(sealed, call);
    expect(round.inner).toBe(long);
    round.end();
    // An unused state may be sent again.
    const again = await own.open(sealed, call);
    expect(again.inner).toBe(long);
    await again.use();
    again.end();
    await expect(own.open(sealed, call)).rejects.toThrow('already answered');
  });

  it('has room for 64 MiB, and expired ones make room', async () => {
    const states = open();
    const own = roundsOver(states, new RoundSeal());
    const large = 'x'.repeat(12 * 1024 * 1024);
    for (let n = 0; n < 5; n++) await own.carry(call, rounds, large);
    await expect(own.carry(call, rounds, large)).rejects.toThrow(RoundStateError);
    clock.advance(600_001);
    const sealed = await own.carry(call, rounds, large);
    expect((await own.open(sealed, call)).inner).toHaveLength(large.length);
  });

  it('that is gone refuses the round', async () => {
    const seal = new RoundSeal();
    const sealed = await roundsOver(open(), seal).carry(call, rounds, long);
    const empty = roundsOver(new MemoryStates(clock), seal);
    await expect(empty.open(sealed, call)).rejects.toThrow('call the tool again');
  });
});

it('a short state travels, and leaves no file', async () => {
  const states = new FileStates(join(folder, 'states'), clock);
  const own = roundsOver(states, new RoundSeal());
  const sealed = await own.carry(call, rounds, 'short');
  expect((await own.open(sealed, call)).inner).toBe('short');
  expect(await readdir(folder)).toEqual([]);
});

it('a long state in files outlives the process, for its owner alone', async () => {
  const seal = new RoundSeal();
  const sealed = await roundsOver(new FileStates(join(folder, 'states'), clock), seal).carry(
    call,
    rounds,
    long,
  );
  const next = roundsOver(new FileStates(join(folder, 'states'), clock), seal);
  const round = await next.open(sealed, call);
  expect(round.inner).toBe(long);
  await round.use();
  expect(await readdir(join(folder, 'states'))).toEqual([]);
});

describe('a question of a server', () => {
  it.each([
    [undefined, 600_000],
    [60_000, 600_000],
    [3_600_000, 3_600_000],
  ])('is open as long as its call is (input timeout %s)', async (inputTimeout, life) => {
    const states = new MemoryStates(clock);
    const ports = { seal: new RoundSeal(), nonces: new MemoryNonces(clock), states, clock, server: 'files' };
    const own = new Rounds({ ...ports, ...(inputTimeout === undefined ? {} : { inputTimeout }) });
    const sealed = await own.carry(call, rounds, 'inner');
    clock.advance(life);
    (await own.open(sealed, call)).end();
    clock.advance(1);
    await expect(own.open(sealed, call)).rejects.toThrow('expired');
    // People have as long as their approval says.
    const approval = await own.carry(call, rounds, null, 5000);
    const round = await own.open(approval, call);
    expect(round.deadline).toBe(clock.now() + 5000);
    round.end();
  });
});
