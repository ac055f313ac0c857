// Statistics over time, counted from the events themselves. No separate counters exist that a repeat or a dying process
// could falsify.
import type { Collection, Filter } from 'mongodb';
import { contractMarks, countedAs, maxSearchMs } from '../../src/event/record.ts';
import type { Env, EnvFilter } from '../../src/shared/ids.ts';
import type {
  AgentTools,
  AgentUse,
  ContractUse,
  FleetUse,
  ToolUse,
  UsageStore,
} from '../../src/usage/port.ts';
import { eventQuery as anyQuery, type EventRow, toOutcome } from './event-filter.ts';
import { fromBsonText, toBsonText } from './form.ts';

/** The server itself ends what takes longer. */
const bounded = { maxTimeMS: maxSearchMs };

/** The sample run is counted nowhere. */
const eventQuery = (...args: Parameters<typeof anyQuery>): Filter<EventRow> => ({
  ...anyQuery(...args),
  sample: { $exists: false },
});

export function mongoUsage(events: Collection<EventRow>): UsageStore {
  return {
    ...toolUse(events),
    listContracts: contractUse(events),

    async getSpan(tenantId, agentId, env) {
      const query = eventQuery(tenantId, { env, agentId });
      const end = (order: 1 | -1) =>
        events
          .find(query, { ...bounded, projection: { ts: 1, env: 1 } })
          .sort({ ts: order, _id: order })
          .limit(1)
          .next();
      const [first, last] = await Promise.all([end(1), end(-1)]);
      return first && last ? { firstAt: first.ts, firstEnv: first.env as Env, env: last.env as Env } : null;
    },

    async listVersionsAt(tenantId, agentId, env, questions) {
      const answers = [];
      for (const { version, since } of questions) {
        const [first, before] = await Promise.all([
          events
            .find(
              { ...eventQuery(tenantId, { env, agentId, since }), policyVersion: toBsonText(version) },
              { ...bounded, projection: { ts: 1 } },
            )
            .sort({ ts: 1 })
            .limit(1)
            .next(),
          events
            .find(eventQuery(tenantId, { env, agentId, until: since }, true), {
              ...bounded,
              projection: { policyVersion: 1 },
            })
            .sort({ ts: -1, _id: -1 })
            .limit(1)
            .next(),
        ]);
        const knownVersion = before?.policyVersion;
        answers.push({
          firstAt: first?.ts ?? null,
          before: knownVersion === undefined ? null : fromBsonText(knownVersion),
        });
      }
      return answers;
    },
  };
}

async function toolsByAgent(
  events: Collection<EventRow>,
  match: Filter<EventRow>,
): Promise<FleetUse<AgentTools>> {
  const used = await events
    .aggregate<{
      readonly _id: { readonly a: string; readonly e: string; readonly t: string };
      readonly last: number;
    }>(
      [
        { $match: match },
        { $group: { _id: { a: '$agentId', e: '$env', t: '$toolName' }, last: { $max: '$ts' } } },
      ],
      bounded,
    )
    .toArray();
  const byAgent = new Map<string, { env: Env; lastSeen: number; readonly tools: Set<string> }>();
  for (const { _id, last } of used) {
    const agent = byAgent.get(_id.a) ?? { env: _id.e as Env, lastSeen: last, tools: new Set<string>() };
    byAgent.set(_id.a, agent);
    agent.tools.add(fromBsonText(_id.t));
    if (last >= agent.lastSeen) [agent.env, agent.lastSeen] = [_id.e as Env, last];
  }
  const toolSets: (readonly string[])[] = [];
  const places = new Map<string, number>();
  const agents = [...byAgent].map(([agentId, { env, lastSeen, tools }]): AgentTools => {
    const sorted = [...tools].sort();
    const key = JSON.stringify(sorted);
    const place = places.get(key) ?? toolSets.push(sorted) - 1;
    places.set(key, place);
    return { agentId: fromBsonText(agentId), env, lastSeen, tools: place };
  });
  return { toolSets, agents: agents.sort((a, b) => (a.agentId < b.agentId ? -1 : 1)) };
}

async function toolsOf(
  events: Collection<EventRow>,
  tenantId: string,
  agentId: string,
  since: number,
  until = Number.MAX_SAFE_INTEGER,
): Promise<readonly ToolUse[]> {
  const groups = await events
    .aggregate<{
      readonly _id: { readonly e: string; readonly t: string; readonly v: string; readonly m: string };
      readonly n: number;
      readonly last: number;
    }>(
      [
        { $match: eventQuery(tenantId, { env: null, agentId, since, until }, true) },
        {
          $group: {
            _id: { e: '$env', t: '$toolName', v: '$verdict', m: '$mode' },
            n: { $sum: 1 },
            last: { $max: '$ts' },
          },
        },
      ],
      bounded,
    )
    .toArray();
  const uses = new Map<string, { -readonly [K in keyof ToolUse]: ToolUse[K] }>();
  for (const { _id, n, last } of groups) {
    const [env, tool] = [_id.e as Env, fromBsonText(_id.t)];
    const fresh = { env, tool, events: 0, allowed: 0, denied: 0, observed: 0, lastUsed: last };
    const use = uses.get(`${env} ${tool}`) ?? fresh;
    uses.set(`${env} ${tool}`, use);
    const as = countedAs(fromBsonText(_id.v), fromBsonText(_id.m));
    use.events += n;
    if (as !== 'pending') use[as] += n;
    use.lastUsed = Math.max(use.lastUsed, last);
  }
  return [...uses.values()];
}

async function fleetUse(
  events: Collection<EventRow>,
  tenantId: string,
  env: EnvFilter,
  since: number,
  countSince: number,
): Promise<FleetUse> {
  const [used, counted] = await Promise.all([
    toolsByAgent(events, eventQuery(tenantId, { env, since })),
    events
      .aggregate<{ readonly _id: string; readonly n: number }>(
        [
          { $match: eventQuery(tenantId, { env, since: countSince }) },
          { $group: { _id: '$agentId', n: { $sum: 1 } } },
        ],
        bounded,
      )
      .toArray(),
  ]);
  const counts = new Map(counted.map(({ _id, n }) => [fromBsonText(_id), n]));
  const withCount = (use: AgentTools): AgentUse => ({ ...use, events: counts.get(use.agentId) ?? 0 });
  return { toolSets: used.toolSets, agents: used.agents.map(withCount) };
}

/** Which tools agents used. */
const toolUse = (
  events: Collection<EventRow>,
): Pick<UsageStore, 'listTools' | 'fleet' | 'listToolsOfAgents'> => ({
  listTools: (tenantId, agentId, since, until) => toolsOf(events, tenantId, agentId, since, until),

  fleet: (tenantId, env, since, countSince) => fleetUse(events, tenantId, env, since, countSince),

  async listToolsOfAgents(tenantId, env, since, agentIds) {
    if (agentIds.length === 0) return { toolSets: [], agents: [] };
    const among = { agentId: { $in: agentIds.map(toBsonText) } };
    return toolsByAgent(events, { $and: [eventQuery(tenantId, { env, since }), among] });
  },
});

interface Sums {
  calls: number;
  denials: number;
  warnings: number;
  last: number;
}

class ContractSums {
  readonly #byName = new Map<string, Sums>();

  add(name: string, calls: number, denied: boolean, observed: boolean, last: number): void {
    const sums = this.#byName.get(name) ?? { calls: 0, denials: 0, warnings: 0, last };
    this.#byName.set(name, sums);
    sums.calls += calls;
    sums.denials += denied ? calls : 0;
    sums.warnings += observed ? calls : 0;
    sums.last = Math.max(sums.last, last);
  }

  /** Most calls first. */
  uses(): readonly ContractUse[] {
    return [...this.#byName]
      .map(
        ([name, { calls, denials, warnings, last }]): ContractUse => ({
          name,
          calls,
          denials,
          warnings,
          lastTriggered: last,
        }),
      )
      .sort((a, b) => b.calls - a.calls || (a.name < b.name ? -1 : 1));
  }
}

const withOutcome = { 'outcomes.0': { $exists: true } };

/** Calls that one report speaks of, by contract, verdict and mode. */
const decisionsWithoutOutcome = (events: Collection<EventRow>, match: Filter<EventRow>) =>
  events
    .aggregate<{
      readonly _id: { readonly c: string; readonly v: string; readonly m: string };
      readonly n: number;
      readonly last: number;
    }>(
      [
        { $match: { $and: [match, { decisionName: { $ne: null } }, { $nor: [withOutcome] }] } },
        {
          $group: {
            _id: { c: '$decisionName', v: '$verdict', m: '$mode' },
            n: { $sum: 1 },
            last: { $max: '$ts' },
          },
        },
      ],
      bounded,
    )
    .toArray();

/** How contracts decided. */
function contractUse(events: Collection<EventRow>): UsageStore['listContracts'] {
  return async (tenantId, env, since, until, names) => {
    const match = eventQuery(tenantId, { env, since, until }, true);
    const sums = new ContractSums();
    const [alone, total] = await Promise.all([
      decisionsWithoutOutcome(events, match),
      events.aggregate<{ readonly n: number }>([{ $match: match }, { $count: 'n' }], bounded).toArray(),
    ]);
    for (const { _id, n, last } of alone) {
      const as = countedAs(fromBsonText(_id.v), fromBsonText(_id.m));
      const name = fromBsonText(_id.c);
      sums.add(names?.entries.get(name) ?? name, n, as === 'denied', as === 'observed', last);
    }
    // A call that several reports speak of counts once for each contract that they name.
    const projection = { decisionName: 1, verdict: 1, mode: 1, ts: 1, outcomes: 1 };
    for await (const row of events.find({ $and: [match, withOutcome] }, { ...bounded, projection })) {
      const name = row.decisionName === null ? null : fromBsonText(row.decisionName);
      const event = { name, verdict: fromBsonText(row.verdict), mode: fromBsonText(row.mode) };
      const outcomes = row.outcomes.map(toOutcome);
      for (const [contract, { denied, observed }] of contractMarks(event, outcomes, names?.entries)) {
        sums.add(contract, 1, denied, observed, row.ts);
      }
    }
    return { events: total[0]?.n ?? 0, contracts: sums.uses() };
  };
}
