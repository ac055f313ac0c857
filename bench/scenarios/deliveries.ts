// Notifications to webhooks, in open loops: from the request for an approval to one receiver, and to nineteen receivers
// with and without a twentieth that never answers.
import { type Hub, makeTenants, openHub } from '../suite/hub.ts';
import { callsOf } from '../suite/open-loop.ts';
import { Receivers } from '../suite/receivers.ts';
import type { Figure, Scenario } from '../suite/results.ts';
import { WriteAndHop, writeAndHopText } from './approval-bound.ts';
import {
  latencyFigure,
  measureSample,
  type OpenRound,
  openScenario,
  runOpenRounds,
  secondsOfTail,
} from './open-rounds.ts';
import type { RunOptions } from './scenario.ts';

const perSecond = 8;
const crowd = 19;
/** A key may request 600 approvals a minute. */
const approvalsOfKey = 500;

interface Clients {
  readonly receivers: Receivers;
  readonly bound: WriteAndHop;
}

const figuresOf = (rounds: readonly OpenRound[]): Figure[] => [
  latencyFigure(rounds, {
    id: 'deliveries.one_p99',
    what: "request for an approval → a webhook's receiver",
    sample: 'alone',
    bound: { name: 'alone', what: `${writeAndHopText}, with two rows` },
    target: { at_most: 50, of: 'value' },
  }),
  latencyFigure(rounds, {
    id: 'deliveries.beside_silent_p99',
    what: `the same to ${crowd} receivers, beside one that never answers`,
    sample: 'beside',
    bound: { name: 'beside', what: 'the same without it' },
    target: { at_most: 1.2, of: 'ratio' },
  }),
];

async function runOn(hub: Hub, { receivers, bound }: Clients, options: RunOptions) {
  const { report } = options;
  const seconds = secondsOfTail(perSecond, options.seconds);
  const { admin, keys } = await makeTenants(hub, 1);
  const loop = { perSecond, seconds };
  while (keys.length * approvalsOfKey < 3 * callsOf(loop) * (options.rounds + 1))
    keys.push(await admin.newKey());
  const ports = await receivers.listen(crowd + 1);
  const addChannel = async (receiver: number, name: string, agents: string): Promise<string> => {
    const body = {
      name,
      channel_type: 'webhook',
      config: { url: `http://127.0.0.1:${ports[receiver]}/hook` },
      filters: { agent_patterns: [agents] },
    };
    return (await admin.call<{ readonly id: string }>('POST', '/api/v1/notifications/channels', body)).id;
  };
  await addChannel(0, 'alone', 'alone-*');
  for (let n = 0; n < crowd; n++) await addChannel(n, `crowd-${n}`, 'crowd-*');
  let orders = 0;
  const deliver = (agentPrefix: string, count: number, length = seconds) => {
    const key = keys[orders++ % keys.length] ?? '';
    const plan = { origin: hub.url, key, agentPrefix, receivers: count, perSecond, seconds: length };
    return receivers.deliver(plan);
  };
  report('warming up', 0);
  await deliver('crowd', crowd, Math.min(1, seconds));
  const pids = [receivers.pid];
  const besideSilent = async (n: number) => {
    await receivers.silenceLast(true);
    const channel = await addChannel(crowd, `silent-${n}`, 'crowd-*');
    const sample = await measureSample(hub.pid, pids, () => deliver('crowd', crowd));
    await admin.call('DELETE', `/api/v1/notifications/channels/${channel}`);
    await receivers.silenceLast(false);
    return sample;
  };
  const measured = await runOpenRounds(options, {
    async measureHub(n) {
      const alone = await measureSample(hub.pid, pids, () => deliver('alone', 1));
      const early = n % 2 === 1 ? await besideSilent(n) : null;
      const healthy = await measureSample(hub.pid, pids, () => deliver('crowd', crowd));
      return { alone, healthy, beside: early ?? (await besideSilent(n)) };
    },
    measureBound: async () => ({
      alone: await bound.measure({ ...loop, writes: 2, folder: hub.dataFolder }),
    }),
  });
  const rounds = measured.map(({ hub: samples, bound: bounds }) => {
    const { healthy } = samples;
    return { hub: samples, bound: healthy === undefined ? bounds : { ...bounds, beside: healthy } };
  });
  return openScenario(options, rounds, {
    name: 'deliveries',
    parameters: { seconds, per_second: perSecond, receivers: crowd },
    figures: figuresOf(rounds),
  });
}

export async function runDeliveries(options: RunOptions): Promise<Scenario> {
  const settings = { ALLOW_PRIVATE_OUTBOUND: 'true', APPROVALS_PER_MINUTE: '1000000' };
  const hub = await openHub(options, { settings });
  const clients: Clients = { receivers: new Receivers(), bound: new WriteAndHop() };
  try {
    return await runOn(hub, clients, options);
  } finally {
    clients.receivers.stop();
    clients.bound.stop();
    await hub.stop();
  }
}
