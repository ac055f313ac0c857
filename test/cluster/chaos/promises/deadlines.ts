// Promise 3: approvals whose owners are killed before the deadline. One terminal state each, never early, at most 2 s
// late and at most 10 s after the owner's death; each dashboard is told of a timeout once.
import { setTimeout as wait } from 'node:timers/promises';
import { shardOf } from '../../../../src/shared/ids.ts';
import { eventually } from '../../nodes.ts';
import { type Asked, ask, decide, read, seen } from '../approvals.ts';
import { type ApprovalSeen, checkApprovals, type Death, lateness } from '../check/approvals.ts';
import { checkOrder, checkReplay } from '../check/streams.ts';
import { close, dashboards, open } from '../crowd.ts';
import { spread } from '../figures.ts';
import type { Follower } from '../follower.ts';
import { evenShares, ownedBy, ownerless } from '../shards.ts';
import { type Env, type Key, Tenant } from '../tenant.ts';
import type { Suite, Trial } from '../trial.ts';

const envs: readonly Env[] = ['production', 'staging', 'development'];
const bounds = { normalMs: 2000, afterDeathMs: 10_000 };

interface Place {
  readonly tenant: Tenant;
  readonly key: Key;
  readonly followers: readonly Follower[];
}

export const deadlines: Suite = {
  promise: 3,
  title: '1,000 approvals whose owners are killed before the deadline',

  async run(trial) {
    const { fleet, random, of } = trial;
    const places: Place[] = [];
    for (let n = 0; n < of(2, 4); n++) {
      const tenant = await Tenant.create(fleet, random);
      const followers = dashboards(fleet, tenant, random.branch(`dashboards-${n}`));
      await open(followers);
      for (const env of envs) places.push({ tenant, key: await tenant.key(env), followers });
    }
    const followers = [...new Set(places.flatMap((place) => place.followers))];

    // Undisturbed ones first, by owners that keep their shards: they show what is normal, and how long asking takes.
    await evenShares(fleet);
    const calmFrom = Date.now();
    const calm = await askMany(trial, places, of(20, 100), 'calm', () => 1 + random.int(2));
    const askMs = (Date.now() - calmFrom) / calm.length;
    await wait(Math.max(0, Math.max(...calm.map(({ deadline }) => deadline)) + 500 - Date.now()));

    // The deadlines fall into one stretch, which begins soon after the first death; most fall after their owner's.
    const count = of(120, 1080);
    const begun = Date.now();
    let asking = 0;
    const asked = await askMany(trial, places, count, 'agent', () => {
      const passed = Date.now() - begun;
      asking++;
      const askedBy = Math.max(passed, 1.1 * count * (asking < 50 ? askMs : passed / asking));
      const at = askedBy + random.between(of(3000, 17_000), of(13_000, 57_000));
      return Math.max(1, Math.round((at - passed) / 1000));
    });
    const deaths: Death[] = [];
    const killing = trial.beside(() => killAll(trial, places, of(1500, 3500), deaths));
    const some = random.shuffle(asked).slice(0, asked.length / 10);
    const deciding = trial.beside(() => decideSome(trial, some));
    const last = Math.max(...asked.map(({ deadline }) => deadline));
    await lookAround(trial, asked, last);
    await killing.end();
    await deciding.end();
    await fleet.heal();
    await wait(Math.max(0, last + bounds.normalMs - Date.now()));

    const all = [...calm, ...asked];
    const enough = () =>
      followers.every((f) => f.open) && told(followers) >= all.length * fleet.size ? true : undefined;
    await eventually('everybody is told', enough, bounds.afterDeathMs).catch(() => {});
    close(followers);
    return judge(trial, places, calm, asked, deaths);
  },
};

/** Terminal frames that the followers got, in all. */
const told = (followers: readonly Follower[]): number =>
  followers.reduce(
    (sum, { frames }) =>
      sum + frames.filter(({ type }) => type === 'approval_timeout' || type === 'approval_decided').length,
    0,
  );

/** A few at a time; an agent may ask for ten a minute. */
async function askMany(
  { fleet, random }: Trial,
  places: readonly Place[],
  count: number,
  prefix: string,
  seconds: () => number,
): Promise<Asked[]> {
  const asked: Asked[] = [];
  const lane = async (from: number) => {
    for (let n = from; n < count; n += 8) {
      const place = places[n % places.length];
      if (!place) continue;
      const agent = `${prefix}-${Math.floor(n / places.length / 3)}`;
      const made = await ask(fleet, place.tenant, place.key, agent, seconds(), random.shuffle(fleet.nodes));
      if (made) asked.push(made);
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, from) => lane(from)));
  if (asked.length < count) throw new Error(`only ${asked.length} of ${count} approvals could be asked for`);
  return asked;
}

/**
 * One node after another, until every environment has lost its owner: shards move when nodes come back, so that each
 * node once would not do.
 */
async function killAll(
  { fleet, random, of }: Trial,
  places: readonly Place[],
  everyMs: number,
  deaths: Death[],
): Promise<void> {
  const tenant = places[0]?.tenant;
  if (!tenant) throw new Error('no tenant');
  const left = new Set(places.map(({ tenant: { id }, key }) => shardOf(`${id}/${key.env}`)));
  while (left.size > 0 && deaths.length < of(3, 6)) {
    await wait(random.between(0.5, 1) * everyMs);
    const owned = await Promise.all([...fleet.nodes.keys()].map((i) => ownedBy(fleet, i)));
    const owners = owned.flatMap((shards, i) => ([...left].some((shard) => shards.has(shard)) ? [i] : []));
    // All that is left is between two owners.
    if (owners.length === 0) continue;
    const i = random.pick(owners);
    await fleet.kill(i);
    const at = Date.now();
    // It may have taken some since it was asked: what nobody else owns was its, or on its way.
    const shards = new Set([...(owned[i] ?? []), ...(await ownerless(fleet))]);
    deaths.push({ at, shards });
    for (const shard of shards) left.delete(shard);
    await wait(random.between(200, 1000));
    await fleet.start(i);
  }
}

async function decideSome({ fleet, random }: Trial, some: readonly Asked[]): Promise<void> {
  await Promise.all(
    some.map(async (asked) => {
      const chance = random.branch(asked.id);
      await wait(chance.between(0, asked.deadline - Date.now()));
      const approved = chance.next() < 0.5;
      for (let tries = 0; tries < 5; tries++) {
        const status = await decide(fleet, asked, fleet.route(chance) ?? fleet.at(0), approved, 'chaos');
        if (status > 0 && status < 500) return;
        await wait(chance.between(100, 500));
      }
    }),
  );
}

/** Reads some states again and again until a while after the last deadline. */
async function lookAround({ fleet, random }: Trial, asked: readonly Asked[], last: number): Promise<void> {
  const chance = random.branch('looks');
  while (Date.now() < last + 1000) {
    const node = fleet.route(chance);
    const some = Array.from({ length: 2 }, () => chance.pick(asked));
    if (node) await Promise.all(some.map((one) => read(fleet, one, node)));
    await wait(150);
  }
}

async function judge(
  { fleet, of }: Trial,
  places: readonly Place[],
  calm: readonly Asked[],
  asked: readonly Asked[],
  deaths: readonly Death[],
) {
  const orphans = asked.filter(({ shard, askedAt, deadline }) =>
    deaths.some(({ at, shards }) => shards.has(shard) && at > askedAt && at < deadline),
  ).length;
  const enough = of(asked.length / 2, 1000);
  const calmIds = new Set(calm.map(({ id }) => id));
  const isCalm = ({ id }: ApprovalSeen) => calmIds.has(id);
  const violations: string[] = [];
  const all: ApprovalSeen[] = [];
  for (const tenant of new Set(places.map((place) => place.tenant))) {
    const followers = places.find((place) => place.tenant === tenant)?.followers ?? [];
    const own = await seen(
      fleet,
      [...calm, ...asked].filter((one) => one.tenant === tenant),
      followers,
    );
    const names = followers.map(({ name }) => name);
    // A busy machine is late for everybody. How late, the undisturbed ones say, for which the plain bounds hold.
    const undisturbed = own.filter(isCalm);
    const busyMs = Math.max(0, ...lateness(undisturbed));
    const allowed = {
      normalMs: bounds.normalMs + busyMs,
      afterDeathMs: bounds.afterDeathMs + busyMs,
      deaths,
    };
    violations.push(...checkApprovals(undisturbed, names, { ...bounds, deaths: [] }));
    violations.push(
      ...checkApprovals(
        own.filter((one) => !isCalm(one)),
        names,
        allowed,
      ),
    );
    violations.push(...followers.flatMap(checkOrder), ...checkReplay(followers));
    all.push(...own);
  }
  const late = (some: readonly ApprovalSeen[]) => spread(lateness(some));
  const count = (status: string) => all.filter(({ final }) => final === status).length;
  return {
    figures: {
      approvals: all.length,
      'owner killed before the deadline': orphans,
      'timed out/approved/denied': `${count('timeout')}/${count('approved')}/${count('denied')}`,
      'undisturbed lateness p50/p99/max': late(all.filter(isCalm)),
      'lateness with owners killed p50/p99/max': late(all.filter((one) => !isCalm(one))),
      resyncs: places
        .flatMap((place) => place.followers.flatMap(({ frames }) => frames))
        .filter(({ type }) => type === 'resync').length,
    },
    violations: [
      ...violations,
      ...(orphans < enough
        ? [`the owners of only ${orphans} approvals were killed before the deadline`]
        : []),
    ],
  };
}
