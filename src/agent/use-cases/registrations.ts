// Agents as they are registered: which bundle each is assigned, what it reports to run, and who of the connected
// drifts.

import { agentKey, environmentKey, type StatusEntry, type StatusPlace } from '../../../actors/protocol.ts';
import { changeBy, noted, noteOf } from '../../audit/note.ts';
import { type AuditNote, auditActor } from '../../audit/record.ts';
import {
  holdsRole,
  requireRole,
  requireSight,
  seesAgent,
  seesEnv,
  visibleEnvOf,
  visibleEnvs,
} from '../../shared/access.ts';
import { actingAgent } from '../../shared/acting-agent.ts';
import { bytesPerTurn, turns } from '../../shared/concurrency/event-loop-budget.ts';
import { dayMs } from '../../shared/duration.ts';
import { notFound } from '../../shared/error.ts';
import { type Env, environments } from '../../shared/ids.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import type { KeyPrincipal, Principal } from '../../shared/principal.ts';
import { snakeKeys } from '../../shared/snake-keys.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import { isUnable } from '../../shared/vocabulary.ts';
import type { Environments } from '../../tenant/use-cases/environments.ts';
import type { RegistrationPatch } from '../port.ts';
import type { AgentStatus, Registration } from '../record.ts';
import type { Resolution, RuleSet } from '../rules/assignment.ts';
import type { LastSeen } from './last-seen.ts';

export interface RegistrationView {
  readonly registration: Registration;
  /** The bundle from the rules of its latest environment, and from its assignment. */
  readonly resolution: Resolution;
}

export interface RegistrationPage {
  readonly items: readonly RegistrationView[];
  readonly more: boolean;
  /** About how many agents were not registered in the last hour, because of the caps. */
  readonly leftOut: number;
  /** The last agent of the page, whether or not the principal sees it; null on an empty page. */
  readonly last: string | null;
}

/** Beginning of a page of the status list. */
export interface StatusStart {
  readonly env: Env;
  readonly after: StatusPlace | null;
}

export interface StatusQuery {
  /** Null: all. */
  readonly env: Env | null;
  readonly bundleName: string | null;
  readonly limit: number;
  readonly start: StatusStart | null;
}

export interface StatusPage {
  readonly entries: readonly AgentStatus[];
  /** Beginning of the next page; null: nothing is left. */
  readonly next: StatusStart | null;
}

/** Agents that an audit entry of many names. */
const maxNamed = 50;
interface Assignment {
  readonly agentIds: readonly string[];
  readonly bundleName: string | null;
  /** Environments where the agents were seen. */
  readonly envs: readonly Env[];
  /** The bundle before, of a single agent. */
  readonly before?: string | null;
}

/** Time for which an agent's environments count, in milliseconds. */
const seenMs = 30 * dayMs;

const unknown = () => notFound('Agent not found.');

type Ports = Pick<AppPorts, 'store' | 'actors' | 'ruleSets' | 'registrar' | 'clock' | 'secrets'> & {
  readonly lastSeen: LastSeen;
  readonly environments: Pick<Environments, 'requireChange'>;
};

export class Registrations {
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** By agent id. @param after the agent that the page before ended with */
  async list(
    principal: Principal,
    page: { readonly limit: number; readonly after: string | null },
  ): Promise<RegistrationPage> {
    const { tenantId } = principal;
    const [{ items, more }, rules, leftOut] = await Promise.all([
      this.#ports.store.agents.list(tenantId, page),
      this.#rulesOf(tenantId),
      this.#ports.registrar.leftOut(tenantId),
    ]);
    const visible = items.filter((one) => seesAgent(principal, one));
    return {
      items: await resolveAll(rules, principal, visible),
      more,
      leftOut,
      last: items.at(-1)?.agentId ?? null,
    };
  }

  /** @throws HubError not_found */
  async get(principal: Principal, agentId: string): Promise<RegistrationView> {
    const { tenantId } = principal;
    const registration = await this.#ports.store.agents.get(tenantId, agentId);
    if (!registration || !seesAgent(principal, registration)) throw unknown();
    return { registration, resolution: resolve(await this.#rulesOf(tenantId), principal, registration) };
  }

  /** The agent's streams receive a new assignment. @throws HubError forbidden, not_found, overloaded, unavailable */
  async update(
    principal: Principal,
    agentId: string,
    { bundleName, ...patch }: RegistrationPatch,
  ): Promise<RegistrationView> {
    const { store, actors } = this.#ports;
    requireRole(principal, 'operator');
    const { tenantId } = principal;
    const before = await store.agents.get(tenantId, agentId);
    if (!before || !seesAgent(principal, before)) throw unknown();
    const seenEnv = before.seenEnvs.find((env) => holdsRole(principal, 'operator', env)) ?? before.lastEnv;
    requireRole(principal, 'operator', seenEnv);
    const isRouting = bundleName !== undefined || patch.tags !== undefined;
    const envs = isRouting ? await this.#requireAssignable(principal, [agentId]) : before.seenEnvs;
    const changed = omitUndefined(patch);
    if (Object.keys(changed).length > 0) {
      const noting = noted(this.#ports, principal, {
        action: 'agent.updated',
        subject: { id: agentId },
        summary: `The registration of ${agentId.slice(0, 200)} was changed.`,
        details: { envs, ...changeBy(this.#ports, before, changed) },
        agentId,
      });
      await noting.agents.update(tenantId, agentId, changed);
    }
    const nextBundleName = bundleName === undefined ? before.bundleName : bundleName;
    if (nextBundleName !== before.bundleName) {
      const note = this.#assignmentNote(principal, {
        agentIds: [agentId],
        bundleName: nextBundleName,
        envs,
        before: before.bundleName,
      });
      const assignment = { agentIds: [agentId], bundleName: nextBundleName, envs, bulk: false, note };
      await actors.ask('tenant', tenantId, 'assign', assignment);
    } else if (isRouting) {
      // Tags decide which rules match, and an assignment may be repeated because its streams missed it. The agent may
      // be connected in any environment.
      for (const env of environments) {
        await actors.tell('agent', agentKey(tenantId, env, agentId), 'resolve', null);
      }
    }
    return this.get(principal, agentId);
  }

  /** Assigns many; returns how many assignments changed. @throws HubError forbidden, overloaded, unavailable */
  async assign(
    principal: Principal,
    agentIds: readonly string[],
    bundleName: string | null,
  ): Promise<number> {
    requireRole(principal, 'operator');
    const envs = await this.#requireAssignable(principal, agentIds);
    const ids = [...new Set(agentIds)];
    const note = this.#assignmentNote(principal, { agentIds: ids, bundleName, envs });
    const assignment = { agentIds: ids, bundleName, envs, bulk: true, note };
    return (await this.#ports.actors.ask('tenant', principal.tenantId, 'assign', assignment)).length;
  }

  /** Connected agents, environment by environment. */
  async status(
    principal: Principal,
    { env: requestedEnv, bundleName, limit, start }: StatusQuery,
  ): Promise<StatusPage> {
    const { tenantId } = principal;
    const begin = start ?? { env: environments[0], after: null };
    const entries: StatusEntry[] = [];
    let next: StatusStart | null = null;
    if (requestedEnv !== null) requireSight(principal, requestedEnv);
    const visible = environments.filter((env) => seesEnv(principal, env));
    const envs = requestedEnv === null ? visible : [requestedEnv];
    for (const env of envs.slice(Math.max(0, envs.indexOf(begin.env)))) {
      next = { env, after: env === begin.env ? begin.after : null };
      if (entries.length >= limit) break;
      const request = { bundleName, limit: limit - entries.length, after: next.after };
      const key = environmentKey(tenantId, env);
      const page = await this.#ports.actors.ask('environment', key, 'status', request);
      entries.push(...page.entries);
      next = page.next === null ? null : { env, after: page.next };
      if (next !== null) break;
    }
    return { entries: await this.#judged(tenantId, entries), next };
  }

  /**
   * Takes an agent's word for the version it runs now; returns which agent's.
   * @throws HubError forbidden, overloaded, unavailable
   */
  async report(
    principal: KeyPrincipal,
    { bundleName, policyVersion }: { readonly bundleName: string | null; readonly policyVersion: string },
  ): Promise<string> {
    const { lastSeen, actors, clock } = this.#ports;
    const agentId = actingAgent(principal);
    // A report is kept of an agent that is registered.
    await lastSeen.touch(principal, new Set([agentId]));
    const key = agentKey(principal.tenantId, principal.env, agentId);
    await actors.ask('agent', key, 'report', { bundleName, policyVersion, at: clock.now() });
    return agentId;
  }

  async #rulesOf(tenantId: string): Promise<RuleSet> {
    return this.#ports.ruleSets.of(tenantId, await this.#ports.store.rules.list(tenantId));
  }

  /** Environments where an agent's assignment holds: those where it was seen, or every environment if it never was. */
  async #envsOf(tenantId: string, agentId: string, seenEnvs: readonly Env[]): Promise<readonly Env[]> {
    const uses = await this.#ports.store.usage.listTools(tenantId, agentId, this.#ports.clock.now() - seenMs);
    const envs = new Set([...seenEnvs, ...uses.map(({ env }) => env)]);
    return envs.size === 0 ? environments : [...envs];
  }

  /** @throws HubError forbidden unless the principal may change each environment of these agents, which it returns */
  async #requireAssignable(principal: Principal, agentIds: readonly string[]): Promise<readonly Env[]> {
    const { tenantId } = principal;
    const touched = new Set<Env>();
    for (const agentId of agentIds) {
      const { seenEnvs = [] } = (await this.#ports.store.agents.get(tenantId, agentId)) ?? {};
      for (const env of await this.#envsOf(tenantId, agentId, seenEnvs)) touched.add(env);
      if (touched.size === environments.length) break;
    }
    await this.#ports.environments.requireChange(principal, [...touched]);
    return [...touched];
  }

  /** Of agents that are assigned a bundle, or (null) none; a few of many are named. */
  #assignmentNote(principal: Principal, { agentIds, bundleName, envs, before }: Assignment): AuditNote {
    const [first = '', ...others] = agentIds;
    const agentId = others.length === 0 ? first : null;
    const subjectName = agentId?.slice(0, 150) ?? `${agentIds.length} agents`;
    const became = bundleName === null ? 'no bundle by name any more' : `the bundle ${bundleName}`;
    return noteOf(this.#ports, principal.tenantId, auditActor(principal), {
      action: 'agent.assigned',
      subject: { id: agentId ?? bundleName ?? 'none', name: agentId ?? bundleName },
      summary: `${agentId === null ? subjectName : `The agent ${subjectName}`} ${agentId === null ? 'are' : 'is'} assigned ${became}.`,
      details: {
        envs,
        agents: agentIds.length,
        agentIds: agentIds.slice(0, maxNamed),
        ...(before === undefined ? {} : { before: snakeKeys({ bundleName: before }) }),
        after: snakeKeys({ bundleName }),
      },
      agentId,
    });
  }

  async #judged(tenantId: string, entries: readonly StatusEntry[]): Promise<readonly AgentStatus[]> {
    const askingIds = entries.flatMap(({ agentId, documentKind }) =>
      documentKind === null ? [] : [agentId],
    );
    const { agents } = this.#ports.store;
    const vocabularies =
      askingIds.length === 0 ? [] : await agents.listVocabularies(tenantId, [...new Set(askingIds)]);
    const spoken = new Map(vocabularies.map((one) => [one.agentId, one]));
    return entries.map((entry) => {
      const agent = spoken.get(entry.agentId);
      return { ...entry, cannotLoad: (agent !== undefined && isUnable(agent, entry)) || undefined };
    });
  }
}

/** Resolves an agent's bundle by the rules of the latest environment that the principal sees. */
function resolve(rules: RuleSet, principal: Principal, registration: Registration): Resolution {
  const { agentId, bundleName, tags } = registration;
  const env = visibleEnvOf(principal, registration) ?? visibleEnvs(principal);
  return rules.resolve({ agentId, env, explicit: bundleName, tags });
}

/**
 * Matches of an agent with a rule that are worked out in one turn of the event loop: a hundred thousand rules may have
 * to be tried for one list.
 */
const matchesPerTurn = 2_000;

async function resolveAll(
  rules: RuleSet,
  principal: Principal,
  registrations: readonly Registration[],
): Promise<RegistrationView[]> {
  const atOnce = Math.max(1, Math.floor(matchesPerTurn / Math.max(1, rules.rules.length)));
  const views: RegistrationView[] = [];
  for (let i = 0; i < registrations.length; i += atOnce) {
    if (registrations.length > atOnce) await turns.next(bytesPerTurn);
    const slice = registrations.slice(i, i + atOnce);
    views.push(
      ...slice.map((registration) => ({ registration, resolution: resolve(rules, principal, registration) })),
    );
  }
  return views;
}
