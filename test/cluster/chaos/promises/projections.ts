// Promise 11: nodes are killed while runs are reported. Runs and series equal a recount of the events, the audit chain
// has no gap, no fork and each decision once, and of all who ask for the sample run at once there is one.
import { eventually } from '../../nodes.ts';
import type { Request } from '../caller.ts';
import { checkChain, checkRuns, checkStatistics, readStored } from '../check/derived.ts';
import { kills, perform } from '../faults.ts';
import { Tenant } from '../tenant.ts';
import { rest, type Suite } from '../trial.ts';

/** A batch whose node died and that nobody sent again is counted when its token is a minute old. */
const countedMs = 90_000;

const report = (call: string, agent: string, session: string, n: number) => ({
  call_id: call,
  agent_id: agent,
  tool_name: `tool-${n % 2}`,
  verdict: n % 3 === 0 ? 'call_denied' : 'call_allowed',
  mode: 'enforce',
  timestamp: new Date().toISOString(),
  payload: {
    session_id: session,
    decision_name: n % 3 === 0 ? `no-secrets-${n}` : null,
    policy_version: `policy-${n % 4}`,
  },
});

export const projections: Suite = {
  promise: 11,
  title: 'runs, series, audit chain and sample run while nodes are killed',

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
            report(`${chance.seed}/${batch}/${i}`, agent, `session-${batch % 3}`, i),
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
      const stored = await readStored(fleet, tenant.cookie);
      wrong = [
        ...(await checkRuns(fleet, operator, stored, 1)),
        ...(await checkChain(fleet, operator, stored)),
        ...(await checkStatistics(fleet, tenant.cookie, stored)),
      ];
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
