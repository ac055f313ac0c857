// Promise 11: nodes are killed while runs are reported. Runs equal a recount of the events, the audit chain has no gap,
// no fork and each decision once, and of all who ask for the sample run at once there is one.
import { nodeCrypto } from '../../../../packages/agent/src/cli/signed.ts';
import { ChainCheck } from '../../../../packages/agent/src/evidence/chain.ts';
import { eventually } from '../../nodes.ts';
import type { Request } from '../caller.ts';
import { kills, perform } from '../faults.ts';
import type { Fleet } from '../fleet.ts';
import { Tenant } from '../tenant.ts';
import { rest, type Suite } from '../trial.ts';

const sampleEvents = 7;
/** A batch whose node died and that nobody sent again is counted when its token is a minute old. */
const countedMs = 90_000;

const report = (call: string, agent: string, session: string, denied: boolean) => ({
  call_id: call,
  agent_id: agent,
  tool_name: 'read_file',
  verdict: denied ? 'call_denied' : 'call_allowed',
  mode: 'enforce',
  timestamp: new Date().toISOString(),
  payload: { session_id: session, decision_name: denied ? 'no-secrets' : null },
});

export const projections: Suite = {
  promise: 11,
  title: 'runs, audit chain and sample run while nodes are killed',

  async run({ fleet, random, history, of, beside }) {
    const tenant = await Tenant.create(fleet, random);
    const { key } = await tenant.key();
    const body = { role: 'admin', ttl_seconds: 3600 };
    const given = await fleet.must('POST', '/api/v1/operator-tokens', { cookie: tenant.cookie, body });
    const operator: Request = { bearer: given.output.token };
    const plan = kills(random.branch('kills'), {
      ms: of(8000, 40_000),
      nodes: fleet.size,
      every: [1500, 3500],
      away: [200, 1200],
    });
    const senders = Array.from({ length: of(8, 20) }, (_, n) =>
      beside(async (signal) => {
        const chance = random.branch(`sender-${n}`);
        const agent = `agent-${n % 4}`;
        for (let batch = 0; !signal.aborted; batch++) {
          const events = Array.from({ length: 6 }, (_, i) =>
            report(`${chance.seed}/${batch}/${i}`, agent, `session-${batch % 3}`, i === 0),
          );
          for (let attempt = 0; attempt < 6 && !signal.aborted; attempt++) {
            const node = fleet.route(chance) ?? fleet.at(0);
            const call = { key, agent, body: { events } };
            const { outcome } = await fleet.caller.note(
              history,
              'report',
              n,
              node,
              'POST',
              '/api/v1/events',
              call,
            );
            if (outcome === 'ok') break;
            await rest(200, signal);
          }
          await rest(of(600, 400), signal);
        }
      }),
    );
    const asking = beside(async (signal) => {
      await rest(plan[0]?.atMs ?? 0, signal);
      await Promise.all(
        Array.from({ length: 50 }, (_, n) =>
          fleet.caller.send(fleet.at(n % fleet.size), 'POST', '/v1/sample-run', operator),
        ),
      );
    });
    const killed = await perform(fleet, plan);
    for (const task of [...senders, asking]) await task.end();
    await fleet.heal();
    await fleet.must('POST', '/v1/sample-run', operator, 90_000);

    let wrong: readonly string[] = [];
    const right = async () => {
      wrong = await differences(fleet, tenant, operator);
      return wrong.length === 0 ? true : undefined;
    };
    await eventually('the runs are counted', right, countedMs).catch(() => {});
    const { ok, failed, unknown } = history.count('report');
    return {
      figures: { kills: killed, 'batches ok/failed/unknown': `${ok}/${failed}/${unknown}` },
      violations: [...wrong, ...(killed === 0 ? ['no node was killed'] : [])],
    };
  },
};

/** Where runs, the chain and the events do not say the same. */
async function differences(fleet: Fleet, tenant: Tenant, operator: Request): Promise<string[]> {
  const found: string[] = [];
  const counted = new Map<string, { events: number; blocked: number }>();
  const denied = new Set<string>();
  let cursor = '';
  do {
    const page = await fleet.must('GET', `/api/v1/events?limit=1000${cursor}`, { cookie: tenant.cookie });
    for (const { call_id, agent_id, verdict, payload, sample } of page.output) {
      const run = `${agent_id}/${payload.session_id}`;
      const { events, blocked } = counted.get(run) ?? { events: 0, blocked: 0 };
      const isDenied = verdict === 'call_denied';
      // The sample run is nobody's decision.
      if (isDenied && !sample) denied.add(call_id);
      counted.set(run, { events: events + 1, blocked: blocked + (isDenied ? 1 : 0) });
    }
    const next = page.headers['x-next-cursor'];
    cursor = typeof next === 'string' ? `&cursor=${encodeURIComponent(next)}` : '';
  } while (cursor !== '');

  const { runs } = (await fleet.must('GET', '/v1/runs?limit=200', operator)).output;
  for (const { agent_id, session_id, counts, sample } of runs) {
    const run = `${agent_id}/${session_id}`;
    const seen = counted.get(run);
    if (counts.events !== seen?.events)
      found.push(`${run}: ${counts.events} events, and ${seen?.events} are stored`);
    if (!sample && counts.blocked !== seen?.blocked)
      found.push(`${run}: ${counts.blocked} of ${seen?.blocked} blocked`);
    counted.delete(run);
    if (sample && counts.events !== sampleEvents) found.push(`the sample run has ${counts.events} events`);
  }
  const samples = runs.filter(({ sample }: { readonly sample: boolean }) => sample).length;
  if (samples !== 1) found.push(`there are ${samples} sample runs`);
  for (const run of counted.keys()) found.push(`${run} has events and is no run`);

  const check = new ChainCheck([], nodeCrypto);
  for (let path: string | null = '/v1/audit/export'; path !== null; ) {
    const page = await fleet.must('GET', path, operator);
    for (const line of String(page.output).trimEnd().split('\n')) {
      const wrong = await check.take(line);
      if (wrong !== null) found.push(`the chain: a line ${wrong}`);
      const { entry } = JSON.parse(line);
      for (const { action_type, details } of entry ? (entry.entries ?? [entry]) : []) {
        if (action_type !== 'run.blocked') continue;
        if (!denied.delete(details.call_id))
          found.push(`${details.call_id} is recorded twice, or was never denied`);
      }
    }
    path = /<([^>]+)>; rel="next"/.exec(String(page.headers.link ?? ''))?.[1] ?? null;
  }
  const end = check.end();
  if (end !== null) found.push(`the chain: ${end}`);
  for (const call of denied) found.push(`${call} was denied and is not recorded`);
  return found;
}
