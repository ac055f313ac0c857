// Promise 4: many decisions side by side on different nodes, and the deadline at the same moment. One winner; agent,
// dashboards and store agree.
import { setTimeout as wait } from 'node:timers/promises';
import { eventually } from '../../nodes.ts';
import { type Asked, ask, decide, final, read, readAsAgent, seen } from '../approvals.ts';
import { checkApprovals } from '../check/approvals.ts';
import { agents, close, dashboards, open } from '../crowd.ts';
import { Tenant } from '../tenant.ts';
import type { Suite, Trial } from '../trial.ts';

const perAgent = 9;

export const decisions: Suite = {
  promise: 4,
  title: 'parallel decisions on different nodes plus the deadline at ± 5 ms',

  async run(trial) {
    const { fleet, random, of } = trial;
    const tenant = await Tenant.create(fleet, random);
    const key = await tenant.key();
    const boards = dashboards(fleet, tenant, random.branch('dashboards'));
    const count = of(6, 15);
    // The servers that stand in for a store in tests take a second for fifty at once.
    const deciders = of(25, 50);
    // Ten a minute are allowed to one agent.
    const askers = agents(fleet, key.key, Math.ceil(count / perAgent), random.branch('agents'), {
      prefix: 'asker-',
    });
    await open([...boards, ...askers]);

    const rounds: Asked[] = [];
    const violations: string[] = [];
    const winners = { approved: 0, denied: 0, timeout: 0 };
    for (let n = 0; n < count; n++) {
      const name = `asker-${Math.floor(n / perAgent)}`;
      const asked = await ask(fleet, tenant, key, name, 1, random.shuffle(fleet.nodes));
      if (!asked) throw new Error('no approval could be asked for');
      rounds.push(asked);
      // Every second one aims at the deadline, the others before it by what a round trip of this crowd takes, so that
      // each outcome comes up.
      const aim = n % 2 === 0 ? 0 : random.pick([-400, -150, -80, -40]);
      violations.push(...(await race(trial, asked, aim, deciders)));
    }
    const wanted = rounds.length * boards.length;
    const arrived = () => {
      const frames = boards.flatMap((board) => board.frames);
      const ends = frames.filter(({ type }) => type === 'approval_decided' || type === 'approval_timeout');
      return ends.length >= wanted ? true : undefined;
    };
    await eventually('every dashboard is told', arrived, 10_000).catch(() => {});
    const followers = [...boards, ...askers];
    const judged = await seen(fleet, rounds, followers);
    for (const { final: status } of judged) if (status !== 'pending') winners[status]++;
    for (const { id, final: status, frames } of judged) {
      const asker = rounds.find((asked) => asked.id === id)?.agent;
      for (const { name } of askers) {
        const told = frames.filter(({ follower }) => follower === name).length;
        if (told !== (name === asker && status !== 'timeout' ? 1 : 0))
          violations.push(`approval ${id} of ${asker}: ${name} was told ${told} times (${status})`);
      }
    }
    if (winners.timeout === 0 || winners.timeout === count)
      violations.push(`the deadline won ${winners.timeout} of ${count} rounds: there was no race`);
    close(followers);
    const names = boards.map(({ name }) => name);
    const bounds = { normalMs: 2000, afterDeathMs: 10_000, deaths: [] };
    return {
      figures: {
        rounds: rounds.length,
        'decisions a round': deciders,
        'won by approve/deny/deadline': `${winners.approved}/${winners.denied}/${winners.timeout}`,
      },
      violations: [...violations, ...checkApprovals(judged, names, bounds)],
    };
  },
};

/** Lets the decisions of one approval meet its deadline; what the winner's answer and the store do not agree on. */
async function race(
  { fleet, random }: Trial,
  asked: Asked,
  aim: number,
  deciders: number,
): Promise<string[]> {
  const chance = random.branch(asked.id);
  const readings = Promise.all(
    fleet.nodes.map(async (node) => {
      for (let i = 0; i < 6; i++) {
        await wait(Math.max(0, asked.deadline - 100 - Date.now()) / 2 + 20);
        await read(fleet, asked, node);
      }
    }),
  );
  const statuses = await Promise.all(
    Array.from({ length: deciders }, async (_, n) => {
      const node = fleet.at(n % fleet.size);
      const at = asked.deadline + aim + chance.between(-5, 5);
      await wait(Math.max(0, at - Date.now()));
      return { n, status: await decide(fleet, asked, node, n % 2 === 0, `decider ${n}`) };
    }),
  );
  await readings;
  await wait(Math.max(0, asked.deadline + 200 - Date.now()));
  const violations: string[] = [];
  const odd = statuses.filter(({ status }) => status !== 200 && status !== 409);
  if (odd.length > 0)
    violations.push(`approval ${asked.id}: decisions were answered ${odd.map((o) => o.status)}`);
  const won = statuses.find(({ status }) => status === 200);
  const { status: stored, reason } = await final(fleet, asked);
  for (const node of fleet.nodes) {
    const told = await readAsAgent(fleet, asked, node);
    if (told !== stored)
      violations.push(`approval ${asked.id}: ${node.name} tells its agent ${told}, the store says ${stored}`);
  }
  if (won && reason !== `decider ${won.n}`) {
    violations.push(`approval ${asked.id}: decider ${won.n} was told that it won, the store says ${reason}`);
  }
  if (!won && odd.length === 0 && reason !== null) {
    violations.push(`approval ${asked.id}: nobody was told that he won, the store says ${reason}`);
  }
  return violations;
}
