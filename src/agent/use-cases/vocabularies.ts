// Agents that are given documents which they cannot load: those last seen on the API of the other vocabulary. They keep
// the document that they have, so the person who deploys or assigns receives a finding.
import { environmentKey } from '../../../actors/protocol.ts';
import type { DocumentKind } from '../../contract/record.ts';
import type { Deployment } from '../../deployment/record.ts';
import type { Env } from '../../shared/ids.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import { canLoad, otherApi } from '../../shared/vocabulary.ts';
import type { Registration } from '../record.ts';

/** Agents that cannot load a document which they are given. */
export interface UnableAgents {
  readonly kind: DocumentKind;
  /** Number of agents that were found. */
  readonly count: number;
  /** More may be: only so many agents are looked at. */
  readonly isPartial: boolean;
  /** The first of them by id, at most 10. */
  readonly agentIds: readonly string[];
}

export interface Vocabularies {
  /**
   * Agents that receive the document and cannot load it: connected agents that follow it, and others by
   * their assignment. Null when there are none. Never throws: the deployment is done already.
   */
  ofDeployment(deployment: Deployment): Promise<UnableAgents | null>;
  /** The same of what an environment runs under a name, for a rule that sends agents to it. */
  ofRule(tenantId: string, env: Env, bundleName: string): Promise<UnableAgents | null>;
  /** The agents of these that cannot load what their environment runs under the name. At most some hundred agents. */
  ofAgents(
    tenantId: string,
    agentIds: readonly string[],
    bundleName: string,
  ): Promise<readonly UnableAgents[]>;
}

const portion = 500;
const maxLookedAt = 2_000;
const maxNamed = 10;

type Ports = Pick<AppPorts, 'store' | 'actors' | 'ruleSets' | 'log'>;

export const createVocabularies = (ports: Ports): Vocabularies => ({
  ofDeployment: (deployment) =>
    quietly(
      ports,
      unable(ports, deployment, ({ streams, follows, assigned }) => {
        if (streams === 0) return assigned === deployment.bundleName;
        // A stream of the console API that follows none is sent every document of its environment.
        return (
          follows === deployment.bundleName || (follows === null && deployment.documentKind === 'ruleset')
        );
      }),
    ),

  ofRule: (tenantId, env, bundleName) =>
    quietly(
      ports,
      ports.store.deployments
        .getCurrent(tenantId, env, bundleName)
        .then((current) => current && unable(ports, current, ({ assigned }) => assigned === bundleName)),
    ),

  async ofAgents(tenantId, agentIds, bundleName) {
    const byKind = new Map<DocumentKind, string[]>();
    const current = new Map<Env, Promise<Deployment | null>>();
    for (const agentId of [...agentIds].sort()) {
      const agent: Registration | null = await ports.store.agents.get(tenantId, agentId);
      if (!agent?.lastEnv || agent.bundleName !== bundleName) continue;
      const deployment =
        current.get(agent.lastEnv) ?? ports.store.deployments.getCurrent(tenantId, agent.lastEnv, bundleName);
      current.set(agent.lastEnv, deployment);
      const kind = (await deployment)?.documentKind ?? null;
      if (kind === null || canLoad(agent, kind)) continue;
      byKind.set(kind, [...(byKind.get(kind) ?? []), agentId]);
    }
    return [...byKind].flatMap(([kind, ids]) => summed(kind, ids, false) ?? []);
  },
});

/** @param isGiven whether an agent is given the document */
async function unable(
  { ruleSets, store, actors }: Ports,
  { tenantId, env, documentKind }: Deployment,
  isGiven: (agent: {
    readonly streams: number;
    readonly follows: string | null;
    readonly assigned: string | null;
  }) => boolean,
): Promise<UnableAgents | null> {
  if (documentKind === null) return null;
  const rules = ruleSets.of(tenantId, await store.rules.list(tenantId));
  const givenAgents: string[] = [];
  const api = otherApi(documentKind);
  let after: string | null = null;
  let more = true;
  for (let looked = 0; more && looked < maxLookedAt; ) {
    const page = await store.agents.listLastOn(tenantId, { env, api, limit: portion, after });
    const agents = page.items.map(({ agentId, bundleName, tags }) => ({
      agentId,
      bundleName: rules.resolve({ agentId, env, explicit: bundleName, tags }).bundleName,
    }));
    if (agents.length > 0) {
      const states = await actors.ask('environment', environmentKey(tenantId, env), 'agentStates', {
        agents,
      });
      for (const [i, { agentId, bundleName: assigned }] of agents.entries()) {
        const { streams = 0, bundleName: follows = null } = states[i] ?? {};
        if (isGiven({ streams, follows, assigned })) givenAgents.push(agentId);
      }
    }
    looked += page.items.length;
    after = page.items.at(-1)?.agentId ?? null;
    more = page.more && after !== null;
  }
  return summed(documentKind, givenAgents, more);
}

const quietly = ({ log }: Ports, finding: Promise<UnableAgents | null>): Promise<UnableAgents | null> =>
  finding.catch((err: unknown) => {
    log.warn({ err }, 'cannot determine which agents cannot load a document');
    return null;
  });

const summed = (kind: DocumentKind, ids: readonly string[], isPartial: boolean): UnableAgents | null =>
  ids.length === 0 ? null : { kind, count: ids.length, isPartial, agentIds: ids.slice(0, maxNamed) };
