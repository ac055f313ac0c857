// Approvals on one node, in open loops: from the decision to the agent's stream, and the whole way from the request.
import { type ApprovalPlan, Approver } from '../suite/approver.ts';
import { type Hub, makeTenants, openHub } from '../suite/hub.ts';
import { callsOf } from '../suite/open-loop.ts';
import type { Scenario } from '../suite/results.ts';
import { WriteAndHop, writeAndHopText } from './approval-bound.ts';
import { latencyFigure, measureSample, openScenario, runOpenRounds, secondsOfTail } from './open-rounds.ts';
import type { RunOptions } from './scenario.ts';

/** A key may request 600 approvals a minute. */
const perSecond = 10;
const approvalsOfKey = 400;

interface Clients {
  readonly approver: Approver;
  readonly bound: WriteAndHop;
}

async function runOn(hub: Hub, { approver, bound }: Clients, options: RunOptions) {
  const { admin, keys } = await makeTenants(hub, 1);
  const loop = { perSecond, seconds: secondsOfTail(perSecond, options.seconds) };
  const approvals = 2 * callsOf(loop) * (options.rounds + 1);
  while (keys.length * approvalsOfKey < approvals) keys.push(await admin.newKey());
  const { url } = hub;
  const plan: ApprovalPlan = {
    origins: { request: url, decide: url, stream: url },
    env: 'production',
    keys,
    ...(hub.runName === null ? {} : { agentPrefix: hub.runName }),
    cookie: admin.cookie(),
  };
  const pids = [approver.pid];
  const measureHub = async () => ({
    decision: await measureSample(hub.pid, pids, () => approver.decisions({ ...plan, ...loop })),
    whole: await measureSample(hub.pid, pids, () => approver.whole({ ...plan, ...loop })),
  });
  options.report('warming up', 0);
  await approver.whole({ ...plan, perSecond, seconds: Math.min(2, options.seconds) });
  const rounds = await runOpenRounds(options, {
    measureHub,
    measureBound: async () => ({
      decision: await bound.measure({ ...loop, writes: 1, folder: hub.dataFolder }),
      whole: await bound.measure({ ...loop, writes: 2, folder: hub.dataFolder }),
    }),
  });
  return openScenario(options, rounds, {
    name: 'approval',
    parameters: { seconds: loop.seconds, per_second: perSecond },
    figures: [
      latencyFigure(rounds, {
        id: 'approval.decision_p99',
        what: "decision → the agent's stream",
        sample: 'decision',
        bound: { name: 'decision', what: writeAndHopText },
        target: { at_most: 20, of: 'value' },
      }),
      latencyFigure(rounds, {
        id: 'approval.whole_p99',
        what: "request → decision at the agent's stream, decided at once",
        sample: 'whole',
        bound: { name: 'whole', what: `${writeAndHopText}, with two rows` },
      }),
    ],
  });
}

export async function runApproval(options: RunOptions): Promise<Scenario> {
  const hub = await openHub(options);
  const clients: Clients = { approver: new Approver(), bound: new WriteAndHop() };
  try {
    return await runOn(hub, clients, options);
  } finally {
    clients.approver.stop();
    clients.bound.stop();
    await hub.stop();
  }
}
