// Promise 7: deploys while connections are cut at random. Every agent ends on the last revision, ids rise on every
// stream, and what was missed is replayed exactly by whichever node, or flagged.
import { setTimeout as wait } from 'node:timers/promises';
import { checkAllTold, checkCatchUp, checkOrder, checkReplay, checkVersions } from '../check/streams.ts';
import { agents, allOn, allOpen, close, dashboards, open } from '../crowd.ts';
import { Follower } from '../follower.ts';
import { Tenant } from '../tenant.ts';
import { rest, type Suite } from '../trial.ts';

const convergeMs = 10_000;

export const cuts: Suite = {
  promise: 7,
  title: '1,000 agents on 3 nodes, deploys while connections are cut at random',

  async run({ fleet, random, of, beside }) {
    const tenant = await Tenant.create(fleet, random);
    const { key } = await tenant.key();
    await tenant.deploy();
    const crowd = agents(fleet, key, of(120, 1000), random.branch('agents'));
    // Dashboards that are cut come back on any node; one per node is never cut, and sees everything.
    const steady = dashboards(fleet, tenant, random);
    const cutOnes = Array.from({ length: of(9, 30) }, (_, n) => {
      const chance = random.branch(`cut-${n}`);
      return new Follower({
        name: `cut-dashboard-${n}`,
        path: () => '/api/v1/stream/dashboard',
        headers: { Cookie: tenant.cookie },
        route: () => fleet.route(chance),
        random: chance,
      });
    });
    const everyone = [...crowd, ...steady, ...cutOnes];
    await open(everyone, 60_000);

    let cutCount = 0;
    const cutting = beside(async (signal) => {
      const chance = random.branch('cuts');
      const victims = [...crowd, ...cutOnes];
      while (!signal.aborted) {
        for (let n = 3; n > 0; n--) {
          const follower = chance.pick(victims);
          if (!follower.open) continue;
          follower.cut();
          cutCount++;
        }
        await rest(chance.between(50, 150), signal);
      }
    });
    const until = Date.now() + of(5000, 20_000);
    const chance = random.branch('deploys');
    while (Date.now() < until) {
      await tenant.deploy();
      await wait(chance.between(50, 600));
    }
    await cutting.end();
    const last = tenant.deployed.at(-1)?.version ?? 0;
    const { behind, tookMs } = await allOn(crowd, last, convergeMs);
    await allOpen(everyone);
    // One more frame that everybody gets, after which nothing is missing at the end of anybody's frames.
    const final = await tenant.deploy();
    const after = await allOn([...everyone], final.version, convergeMs);
    close(everyone);

    const versions = tenant.deployed.map(({ version }) => version);
    const followers = [...steady, ...cutOnes];
    const replayed = crowd.reduce((sum, { connections }) => sum + connections.length - 1, 0);
    const resyncs = everyone.flatMap(({ frames }) => frames.filter(({ type }) => type === 'resync')).length;
    return {
      figures: {
        agents: crowd.length,
        deploys: versions.length,
        cuts: cutCount,
        reconnections: replayed,
        resyncs,
        'all on the last revision after': `${Math.round(tookMs)} ms`,
      },
      violations: [
        ...behind.map((line) => `not on the last revision ${last}: ${line}`),
        ...after.behind.map((line) => `not on the final revision ${final.version}: ${line}`),
        ...everyone.flatMap(checkOrder),
        ...crowd.flatMap((agent) => [
          ...checkVersions(agent, versions),
          ...checkCatchUp(agent, tenant.deployed),
        ]),
        ...checkReplay(followers),
        ...steady.flatMap((follower) => checkAllTold(follower, versions.slice(1))),
      ],
    };
  },
};
