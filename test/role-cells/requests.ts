// One request about an environment for each route, from what the cells' tenant contains in each environment.
import { expect } from 'vitest';
import type { RouteDeclaration } from '../../src/http/contract/route.ts';
import { type Env, environments } from '../../src/shared/ids.ts';
import { bundleYaml } from '../contract/library.ts';
import type { HubProcess } from '../e2e/process.ts';

/** One request about an environment. */
export interface CellRequest {
  readonly path: string;
  readonly body?: unknown;
  /** For a list with records of several environments: true if its text has those of the environment. */
  readonly lists?: (text: string) => boolean;
}

/** Requests of each route by its name. */
export interface CellRequests {
  /** @returns undefined for a route that has no request here */
  of(name: string, route: RouteDeclaration): ((env: Env) => CellRequest | Promise<CellRequest>) | undefined;
  /** True for a route about the whole tenant: the role in any environment suffices. */
  isOfTenant(name: string): boolean;
  /** Names of all routes with a request of their own. */
  readonly names: readonly string[];
}

export const agentIn = (env: Env): string => `agent-${env}`;

/** Everything that the cells' tenant contains. */
export class CellTenant {
  readonly hub: HubProcess;
  admin = '';
  readonly #keys = new Map<Env, string>();
  readonly #records = new Map<Env, { readonly [kind: string]: string }>();
  #count = 0;

  constructor(hub: HubProcess) {
    this.hub = hub;
  }

  /** A number that no other call returns. */
  next(): number {
    return ++this.#count;
  }

  keyIn(env: Env): string {
    return this.#keys.get(env) ?? '';
  }

  recordIn(env: Env, kind: string): string {
    return this.#records.get(env)?.[kind] ?? '';
  }

  /** A call that must succeed; returns its body. */
  async must(method: string, path: string, options: Parameters<HubProcess['call']>[2]) {
    const { status, body } = await this.hub.call(method, path, options);
    expect({ path, body, isOk: status < 300 }).toMatchObject({ path, isOk: true });
    return body;
  }

  asAdmin(method: string, path: string, body?: unknown) {
    return this.must(method, path, { cookie: this.admin, ...(body === undefined ? {} : { body }) });
  }

  asAgent(env: Env, path: string, body: unknown) {
    return this.must('POST', path, { key: this.keyIn(env), agent: agentIn(env), body });
  }

  /** Stores one event of the environment's agent. */
  sendEvent(env: Env, callId: string) {
    const event = {
      call_id: callId,
      agent_id: agentIn(env),
      tool_name: 'transfer',
      verdict: 'call_denied',
      mode: 'enforce',
      timestamp: new Date().toISOString(),
      payload: {
        session_id: 'run',
        workflow: { name: 'release', active_stage: 'review', completed_stages: [], pending_approval: {} },
      },
    };
    const agent_manifest = { agent_id: agentIn(env), policy_version: 'x', contracts: [] };
    return this.asAgent(env, '/api/v1/events', { events: [event], agent_manifest });
  }

  requestApproval(env: Env) {
    // Approvals of one agent are limited.
    const agent = `${agentIn(env)}-${this.next()}`;
    const body = { agent_id: agent, tool_name: 'transfer', message: 'm', timeout: 3600 };
    return this.must('POST', '/api/v1/approvals', { key: this.keyIn(env), agent, body });
  }

  createRule(env: Env) {
    const rule = { priority: this.next(), pattern: agentIn(env), bundle_name: 'cells', env };
    return this.asAdmin('POST', '/api/v1/assignment-rules', rule);
  }

  async deploy(bundle: string, env: Env) {
    return this.asAdmin('POST', `/api/v1/bundles/${bundle}/1/deploy`, { env });
  }

  async start(): Promise<void> {
    this.admin = await this.hub.admin();
    for (const name of ['cells', 'undeployed'])
      await this.asAdmin('POST', '/api/v1/bundles', { yaml_content: bundleYaml(name) });
    await this.asAdmin('POST', '/api/v1/contracts', contractOf('cells'));
    await this.asAdmin('POST', '/api/v1/compositions', compositionOf('composed'));
    for (const env of environments) await this.#furnish(env);
  }

  /** A key, an agent with an event and a run, a deployment, an approval, a rule and a tool pin. */
  async #furnish(env: Env): Promise<void> {
    this.#keys.set(env, (await this.hub.key(this.admin, env)).key);
    const deployment = await this.deploy('cells', env);
    expect(await this.sendEvent(env, `call-${env}`)).toMatchObject({ accepted: 1 });
    await this.asAgent(env, '/api/v1/tool-observations', {
      agent_id: agentIn(env),
      server: 'tools',
      tools: [{ name: `tool-${env}`, fingerprint: `sha256:${'0'.repeat(64)}` }],
    });
    const { tools } = await this.asAdmin('GET', `/api/v1/tool-pins?env=${env}`);
    const pin = tools.find(({ tool }: { tool: string }) => tool === `tool-${env}`);
    const [event] = await this.asAdmin('GET', `/api/v1/events?env=${env}`);
    this.#records.set(env, {
      deployment: deployment.id,
      event: event.id,
      approval: (await this.requestApproval(env)).id,
      rule: (await this.createRule(env)).id,
      pin: pin.id,
    });
  }
}

function contractOf(id: string) {
  const definition = {
    tool: 'x',
    when: { 'args.a': { exists: true } },
    then: { effect: 'deny', message: 'no' },
  };
  return { contract_id: id, name: id, type: 'pre', definition };
}

const compositionOf = (name: string) => ({ name, contracts: [{ contract_id: 'cells', position: 10 }] });

type RequestOf = (env: Env) => CellRequest | Promise<CellRequest>;
interface RequestTable {
  readonly [route: string]: RequestOf;
}

/** Routes that change something in an environment. */
const changes = (tenant: CellTenant): RequestTable => ({
  deployBundle: (env) => ({ path: '/api/v1/bundles/cells/1/deploy', body: { env } }),
  deployComposition: (env) => ({ path: '/api/v1/compositions/composed/deploy', body: { env } }),
  async undeployBundle(env) {
    await tenant.deploy('undeployed', env);
    return { path: `/api/v1/deployments/current?env=${env}&bundle_name=undeployed` };
  },
  async hostedUndeployRuleset(env) {
    await tenant.deploy('undeployed', env);
    return { path: `/v1/rulesets/undeployed/current?env=${env}` };
  },
  async decideApproval(env) {
    return {
      path: `/api/v1/approvals/${(await tenant.requestApproval(env)).id}`,
      body: { approved: false },
    };
  },
  async assignApproval(env) {
    return {
      path: `/api/v1/approvals/${(await tenant.requestApproval(env)).id}/assignee`,
      body: { user_id: null },
    };
  },
  async hostedDecideApproval(env) {
    return {
      path: `/v1/approvals/${(await tenant.requestApproval(env)).id}/decide`,
      body: { decision: 'rejected' },
    };
  },
  createRule: (env) => ({
    path: '/api/v1/assignment-rules',
    body: { priority: tenant.next(), pattern: 'none*', bundle_name: 'cells', env },
  }),
  updateRule: (env) => ({ path: `/api/v1/assignment-rules/${tenant.recordIn(env, 'rule')}`, body: {} }),
  async deleteRule(env) {
    return { path: `/api/v1/assignment-rules/${(await tenant.createRule(env)).id}` };
  },
  updateRegistration: (env) => ({
    path: `/api/v1/agent-registrations/${agentIn(env)}`,
    body: { bundle_name: 'cells' },
  }),
  bulkAssign: (env) => ({
    path: '/api/v1/agent-registrations/bulk-assign',
    body: { agent_ids: [agentIn(env)], bundle_name: 'cells' },
  }),
  decideToolPin: (env) => ({
    path: `/api/v1/tool-pins/${tenant.recordIn(env, 'pin')}`,
    body: { decision: 'accepted', envs: [env] },
  }),
});

/** Routes that read one record, a document for an environment, or a list of several environments. */
function reads(tenant: CellTenant): RequestTable {
  const yaml_content = bundleYaml('cells');
  const listOf =
    (path: string): RequestOf =>
    (env) => ({ path, lists: (text) => text.includes(agentIn(env)) || text.includes(`"${env}"`) });
  return {
    bundleImpact: (env) => ({ path: '/api/v1/bundles/impact', body: { yaml_content, env } }),
    evaluateBundle: (env) => ({
      path: '/api/v1/bundles/evaluate',
      body: { yaml_content, tool_name: 'x', tool_args: {}, environment: env },
    }),
    replayBundle: (env) => ({ path: '/api/v1/bundles/replay', body: { yaml_content, env } }),
    replayComposition: (env) => ({ path: '/api/v1/compositions/composed/replay', body: { env } }),
    hostedReplayText: (env) => ({ path: '/v1/rulesets/cells/replay', body: { env, yaml_content } }),
    getApproval: (env) => ({ path: `/api/v1/approvals/${tenant.recordIn(env, 'approval')}` }),
    hostedGetApproval: (env) => ({ path: `/v1/approvals/${tenant.recordIn(env, 'approval')}` }),
    getEvent: (env) => ({ path: `/api/v1/events/${tenant.recordIn(env, 'event')}` }),
    explainEvent: (env) => ({ path: `/api/v1/events/${tenant.recordIn(env, 'event')}/explain` }),
    getRegistration: (env) => ({ path: `/api/v1/agent-registrations/${agentIn(env)}` }),
    agentCoverage: (env) => ({ path: `/api/v1/agents/${agentIn(env)}/coverage` }),
    agentHistory: (env) => ({ path: `/api/v1/agents/${agentIn(env)}/history` }),
    listAgentStreams: (env) => ({ path: `/api/v1/agents/${agentIn(env)}/streams` }),
    agentTimeline: (env) => ({ path: `/api/v1/agents/${agentIn(env)}/timeline` }),
    runTimeline: (env) => ({ path: `/api/v1/runs/${agentIn(env)}/run/timeline` }),
    deploymentRollout: (env) => ({
      path: `/api/v1/deployments/${tenant.recordIn(env, 'deployment')}/rollout`,
    }),
    getToolPin: (env) => ({ path: `/api/v1/tool-pins/${tenant.recordIn(env, 'pin')}` }),
    hostedGetAgent: (env) => ({ path: `/v1/agents/${agentIn(env)}` }),
    hostedWorkflowState: (env) => ({ path: `/v1/agents/${agentIn(env)}/workflow-state?session_id=run` }),
    hostedRunBundle: (env) => ({ path: `/v1/runs/${agentIn(env)}/run/bundle` }),
    exportEventLines: listOf('/api/v1/exports/events'),
    exportApprovalLines: listOf('/api/v1/exports/approvals'),
    fleetMatrix: listOf('/api/v1/fleet/matrix'),
    searchThings: (env) => ({
      path: `/api/v1/search?q=${agentIn(env)}`,
      lists: (text) => text.includes(`"${agentIn(env)}"`),
    }),
    listRules: listOf('/api/v1/assignment-rules'),
    listRegistrations: listOf('/api/v1/agent-registrations'),
    listEnvironments: listOf('/api/v1/environments'),
    listBundles: listOf('/api/v1/bundles'),
    listBundleVersions: listOf('/api/v1/bundles/cells'),
    hostedListAgents: listOf('/v1/agents'),
    hostedListAudit: listOf('/v1/audit'),
    hostedListRuns: listOf('/v1/runs'),
    hostedListApprovals: listOf('/v1/approvals'),
    listKeys: listOf('/api/v1/keys'),
  };
}

/** Routes about the library, which all environments share, and the stream of a whole tenant. */
function ofTenant(tenant: CellTenant): RequestTable {
  const fresh = (): string => `cell-${tenant.next()}`;
  return {
    dashboardStream: () => ({ path: '/api/v1/stream/dashboard' }),
    listCompositions: () => ({ path: '/api/v1/compositions' }),
    getComposition: () => ({ path: '/api/v1/compositions/composed' }),
    contractUsage: () => ({ path: '/api/v1/contracts/cells/usage' }),
    createContract: () => ({ path: '/api/v1/contracts', body: contractOf(fresh()) }),
    updateContract: () => ({ path: '/api/v1/contracts/cells', body: { name: fresh() } }),
    async deleteContract() {
      const contract = contractOf(fresh());
      await tenant.asAdmin('POST', '/api/v1/contracts', contract);
      return { path: `/api/v1/contracts/${contract.contract_id}` };
    },
    importContracts: () => ({
      path: '/api/v1/contracts/import',
      body: { yaml_content: bundleYaml(fresh()) },
    }),
    createComposition: () => ({ path: '/api/v1/compositions', body: compositionOf(fresh()) }),
    updateComposition: () => ({ path: '/api/v1/compositions/composed', body: { description: fresh() } }),
    async deleteComposition() {
      const composition = compositionOf(fresh());
      await tenant.asAdmin('POST', '/api/v1/compositions', composition);
      return { path: `/api/v1/compositions/${composition.name}` };
    },
    async deleteBundle() {
      const name = fresh();
      await tenant.asAdmin('POST', '/api/v1/bundles', { yaml_content: bundleYaml(name) });
      return { path: `/api/v1/bundles/${name}` };
    },
  };
}

const times = 'since=2026-01-01T00:00:00Z&until=2026-01-02T00:00:00Z&bucket_seconds=3600';

/** A request that names the environment in its query; undefined for a route without such a parameter. */
function inQuery({ path, query }: RouteDeclaration): RequestOf | undefined {
  const parameter = ['env', 'environment'].find((name) => query && name in query.shape);
  if (parameter === undefined) return undefined;
  const filledPath = path
    .replaceAll('{name}', 'cells')
    .replaceAll('{version}', '1')
    .replaceAll('{agent_id}', 'absent');
  return (env) => ({ path: `${filledPath}?${parameter}=${env}&${times}&session_id=run` });
}

export function cellRequests(tenant: CellTenant): CellRequests {
  const library = ofTenant(tenant);
  const table: RequestTable = { ...library, ...changes(tenant), ...reads(tenant) };
  return {
    of: (name, route) => table[name] ?? inQuery(route),
    isOfTenant: (name) => name in library,
    names: Object.keys(table),
  };
}
