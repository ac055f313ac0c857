// Promise 5: an owner is stopped by SIGSTOP, another takes over, and it wakes. Nothing stale is accepted, and it drops
// its role within 1 s.
import { shardOf } from '../../../../src/shared/ids.ts';
import { eventually } from '../../nodes.ts';
import { type Asked, ask, decide, seen } from '../approvals.ts';
import { checkApprovals } from '../check/approvals.ts';
import { checkOrder, checkVersions } from '../check/streams.ts';
import { agents, allOn, close, dashboards, open } from '../crowd.ts';
import { ownedBy, ownerOf, view } from '../shards.ts';
import { Tenant } from '../tenant.ts';
import { rest, type Suite } from '../trial.ts';

const dropMs = 1000;

export const pause: Suite = {
  promise: 5,
  title: 'SIGSTOP of an owner for 30 s, take-over, SIGCONT',

  async run(trial) {
    const { fleet, random, of } = trial;
    const tenant = await Tenant.create(fleet, random);
    const key = await tenant.key();
    await tenant.deploy();
    const crowd = agents(fleet, key.key, of(30, 100), random.branch('agents'));
    const boards = dashboards(fleet, tenant, random.branch('dashboards'));
    await open([...crowd, ...boards]);
    const owner = (await eventually('an owner', async () => (await ownerOf(fleet, tenant)) ?? undefined))
      .value;
    const asleep = fleet.at(owner);
    const others = fleet.nodes.filter((node) => node !== asleep);
    const pausedMs = of(9000, 30_000);

    // Work under way at the owner when it stops: decisions, answered or not.
    const asked: Asked[] = [];
    const askFor = async (seconds: number, agent: string) => {
      const one = await ask(fleet, tenant, key, agent, seconds, random.shuffle(others));
      if (one) asked.push(one);
      return one;
    };
    for (let n = 0; n < 16; n++) await askFor(Math.round(2 + (n * pausedMs) / 16_000), `early-${n >> 2}`);
    const early = [...asked];
    // Long enough that another has taken over before their deadlines.
    const contested = early.slice(8, 12);
    // A caller of the sleeping node waits until it has woken and answered.
    const patience = pausedMs + 15_000;
    const burst = early
      .slice(0, 4)
      .map((one, n) => decide(fleet, one, asleep, n % 2 === 0, 'at the pause', patience));
    const shards = await ownedBy(fleet, owner);
    await rest(random.between(0, 8), trial.ended);
    const from = Date.now();
    fleet.pause(owner);
    // These wait in its sockets, and are read when it wakes: by then they are late, or another has decided.
    const stale = contested.map((one) => decide(fleet, one, asleep, true, 'asleep', patience));
    const deploying = trial.beside(async (signal) => {
      while (!signal.aborted) {
        await tenant.deploy('production', 30_000);
        await rest(random.between(200, 600), signal);
      }
    });
    const taken = await eventually(
      'another takes over',
      async () => ((await ownerOf(fleet, tenant)) === null ? undefined : true),
      pausedMs,
    );
    await Promise.all(contested.map((one) => decide(fleet, one, random.pick(others), false, 'awake')));
    for (let n = 0; n < 6; n++) await askFor(2 + n, `late-${n >> 2}`);
    await rest(pausedMs - (Date.now() - from), trial.ended);

    const awake = contested.flatMap(({ decisions }) => decisions.map(({ outcome }) => outcome));
    const taken2 = await ownerOf(fleet, tenant);
    fleet.resume(owner);
    const woken = performance.now();
    const wokenAt = Date.now();
    const shard = shardOf(`${tenant.id}/production`);
    const violations: string[] = [];
    const dropped = await eventually(
      'it drops its role',
      async () => {
        const own = (await view(fleet, asleep))?.own;
        return own && !own.has(shard) ? true : undefined;
      },
      10 * dropMs,
    ).then(
      () => performance.now() - woken,
      () => Number.POSITIVE_INFINITY,
    );
    if (taken2 === null) violations.push('nobody owned the shard at the end of the pause');
    if (dropped > dropMs) violations.push(`it dropped its role only ${Math.round(dropped)} ms after it woke`);
    await Promise.all([...burst, ...stale]);
    if (asked.length < 22) violations.push(`only ${asked.length} of 22 approvals could be asked for`);
    if (!awake.includes('ok')) violations.push('nobody could decide while the owner slept');
    const answers = asked.flatMap(({ decisions }) => decisions).filter(({ ended }) => ended >= wokenAt);
    if (answers.every(({ outcome }) => outcome === 'unknown'))
      violations.push('the owner answered nothing after it had woken');
    await rest(1500, trial.ended);
    await deploying.end();
    await rest(Math.max(...asked.map(({ deadline }) => deadline)) + 2500 - Date.now(), trial.ended);

    const last = tenant.deployed.at(-1)?.version ?? 0;
    const { behind, tookMs } = await allOn(crowd, last, 5000);
    const current = await tenant.current();
    if (current !== last) violations.push(`version ${last} was deployed last, the store has ${current}`);
    const sleeping = `dashboard-${asleep.name}`;
    const judged = (await seen(fleet, asked, boards)).map((one) => ({
      ...one,
      // A dashboard on the sleeping node is told when it wakes, as if it had come back then.
      frames: one.frames.map((frame) => (frame.follower === sleeping ? { ...frame, since: wokenAt } : frame)),
    }));
    close([...crowd, ...boards]);
    const versions = tenant.deployed.map(({ version }) => version);
    const names = boards.map(({ name }) => name);
    const bounds = { normalMs: 2000, afterDeathMs: 10_000, deaths: [{ at: from, shards }] };
    return {
      figures: {
        'taken over after': `${Math.round(taken.tookMs)} ms`,
        'role dropped after waking within': `${Math.round(dropped)} ms`,
        'deploys meanwhile': versions.length - 1,
        approvals: asked.length,
        'all on the last revision after': `${Math.round(tookMs)} ms`,
      },
      violations: [
        ...violations,
        ...behind.map((line) => `5 s after it woke, on ${last}: ${line}`),
        ...crowd.flatMap((agent) => [...checkOrder(agent), ...checkVersions(agent, versions)]),
        ...checkApprovals(judged, names, bounds),
      ],
    };
  },
};
