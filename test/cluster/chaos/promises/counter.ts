// Promise 8: increments of one session value over all nodes, with kills. The sum equals the acknowledged ones, unknowns
// bounded.
import { setTimeout as wait } from 'node:timers/promises';
import { checkCounter } from '../check/counter.ts';
import { kills, perform } from '../faults.ts';
import { spread } from '../figures.ts';
import { Tenant } from '../tenant.ts';
import type { Suite } from '../trial.ts';

export const counter: Suite = {
  promise: 8,
  title: '1,000 concurrent increments of one session value with kills',

  async run({ fleet, random, history, of }) {
    const tenant = await Tenant.create(fleet, random);
    const { key } = await tenant.key();
    const total = of(400, 1000);
    const ms = of(5000, 12_000);
    const path = '/api/v1/sessions/runs/count/increment';
    const plan = kills(random.branch('kills'), {
      ms,
      nodes: fleet.size,
      every: [700, 2000],
      away: [100, 800],
    });
    const begun = Date.now();
    // Half of them at any time, half in crowds at the kills.
    const increments = Array.from({ length: total }, async (_, n) => {
      const chance = random.branch(`increment-${n}`);
      const at = n % 2 === 0 ? chance.between(0, ms) : chance.pick(plan).atMs + chance.between(-30, 30);
      await wait(Math.max(0, begun + at - Date.now()));
      const node = fleet.route(chance) ?? fleet.at(0);
      return fleet.caller.note(history, 'increment', n, node, 'POST', path, { key, body: { amount: 1 } });
    });
    const killed = await perform(fleet, plan);
    const calls = await Promise.all(increments);
    await fleet.heal();
    const { output } = await fleet.must('GET', '/api/v1/sessions/runs/count', { key });
    const value = Number(output.value);
    const { ok, failed, unknown } = history.count('increment');
    return {
      figures: {
        kills: killed,
        'increments ok/failed/unknown': `${ok}/${failed}/${unknown}`,
        value,
        'answered after p50/p99/max': spread(calls.map(({ invoked, ended }) => ended - invoked)),
      },
      violations: [
        ...checkCounter(calls, value, fleet.deaths(begun)),
        ...(killed === 0 ? ['no node was killed'] : []),
      ],
    };
  },
};
