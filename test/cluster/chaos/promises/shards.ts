// Promise 10: of three nodes one is killed. All 256 shards are owned again within 10 s.
import { eventually } from '../../nodes.ts';
import { spread } from '../figures.ts';
import { isWhole, view } from '../shards.ts';
import type { Suite } from '../trial.ts';

const limitMs = 10_000;

export const shards: Suite = {
  promise: 10,
  title: 'losing shards: one of three nodes killed',

  async run({ fleet, random, of }) {
    const whole = async () => {
      const views = await Promise.all(fleet.up.map((node) => view(fleet, node)));
      return isWhole(views) ? true : undefined;
    };
    const lost: number[] = [];
    const owned: number[] = [];
    const shared: number[] = [];
    for (let round = 0; round < of(1, 2); round++) {
      await eventually('all shards are owned before the kill', whole, 30_000);
      const victim = random.int(fleet.size);
      lost.push((await view(fleet, fleet.at(victim)))?.own.size ?? 0);
      await fleet.kill(victim);
      const again = eventually('all shards are owned', whole, 3 * limitMs).then(
        ({ tookMs }) => tookMs,
        () => Number.POSITIVE_INFINITY,
      );
      owned.push(await again);
      await fleet.start(victim);
      shared.push((await eventually('the new node has its share', whole, 30_000)).tookMs);
    }
    return {
      figures: {
        '256 shards owned again after': owned.map((ms) => `${(ms / 1000).toFixed(1)} s`).join(', '),
        'shards lost': lost.join(', '),
        'shared with the new node after p50/p99/max': spread(shared),
      },
      violations: [
        ...owned
          .filter((ms) => ms > limitMs)
          .map((ms) => `all 256 shards were owned again only after ${Math.round(ms)} ms`),
        ...lost.filter((count) => count === 0).map(() => 'a node was killed that owned no shard'),
      ],
    };
  },
};
