// The sample run of a workspace: made once, whoever asks and however often. Everything of it has an id that follows
// from the workspace. Its approval, whose first insert wins, fixes the time of the run: two callers that make it at
// once write the same.

import { environmentKey } from '../../../actors/protocol.ts';
import { type CountLimit, limits } from '../../admission/limit.ts';
import { pendingApproval } from '../../approval/record.ts';
import type { Rulesets } from '../../bundle/use-cases/rulesets.ts';
import type { Evaluation } from '../../evaluation/port/evaluator.ts';
import type { EventInput } from '../../event/record.ts';
import { contentId } from '../../event/rules/decision.ts';
import { BoundedMap } from '../../shared/concurrency/bounded-map.ts';
import { type EnvFilter, isInFilter } from '../../shared/ids.ts';
import { type Principal, systemPrincipal } from '../../shared/principal.ts';
import { snakeKeys } from '../../shared/snake-keys.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { Environments } from '../../tenant/use-cases/environments.ts';
import type { SampleRun } from '../record.ts';
import {
  type SampleCall,
  sample,
  sampleCalls,
  sampleRequest,
  sampleRuleset,
  sampleWorkflow,
} from '../rules/sample.ts';

const { agentId, sessionId, env } = sample;

export interface SampleRuns {
  /**
   * Deploys its ruleset, unless the environment is protected and the caller may not change it: then it saves the
   * ruleset alone. `created`: it was not there. Safe to repeat, also at once: a call that comes while another of the
   * workspace is under way is answered with it, and is not counted.
   * @throws HubError unavailable (signing_unavailable), rate_limited and others
   */
  ensure(principal: Principal, count: CountLimit): Promise<SampleRun & { readonly created: boolean }>;
  /**
   * Removes its run, events and approval; its ruleset stays. Safe to repeat.
   * @throws HubError rate_limited, overloaded, unavailable
   */
  remove(principal: Principal, count: CountLimit): Promise<void>;
  /** The id of its approval, also while there is none. */
  approvalIdOf(tenantId: string): string;
  /** Its approvals that wait: what a count of the workspace's pending approvals leaves out. 0 or 1. */
  pending(tenantId: string, env: EnvFilter): Promise<number>;
}

const maxUnderWay = 1_000;

interface Ensured {
  readonly created: boolean;
  readonly runId: string;
}

type Ports = Pick<AppPorts, 'actors' | 'store' | 'evaluator' | 'clock' | 'secrets' | 'settings'> & {
  readonly rulesets: Pick<Rulesets, 'deploy'>;
  readonly environments: Pick<Environments, 'mayChange' | 'isProtected'>;
};

class WorkspaceSamples implements SampleRuns {
  readonly #ports: Ports;
  readonly #underWay = new BoundedMap<Promise<Ensured>>(maxUnderWay);

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  async ensure(principal: Principal, count: CountLimit): Promise<SampleRun & { readonly created: boolean }> {
    const { tenantId } = principal;
    const run = this.#runOf(tenantId);
    const same = this.#underWay.get(tenantId, this.#ports.clock.monotonic());
    if (same) return { ...run, runId: (await same).runId, created: false };
    // Registered before anything is awaited, so that of any number of calls one makes it.
    const making = this.#makeUnlessThere(principal, count);
    this.#underWay.set(tenantId, making, Number.POSITIVE_INFINITY);
    try {
      return { ...run, ...(await making) };
    } finally {
      this.#underWay.delete(tenantId);
    }
  }

  async remove({ tenantId }: Principal, count: CountLimit): Promise<void> {
    const { actors, clock, store } = this.#ports;
    await count(limits.sampleRuns);
    await this.#underWay.get(tenantId, clock.monotonic())?.catch(() => undefined);
    // The approval goes last: as long as it is there, the run can be made again as it was.
    await store.events.removeSample(tenantId);
    const id = this.approvalIdOf(tenantId);
    await actors.ask('environment', environmentKey(tenantId, env), 'removeApproval', { id });
  }

  approvalIdOf(tenantId: string): string {
    return this.#idOf(tenantId, 'approval');
  }

  async pending(tenantId: string, envFilter: EnvFilter): Promise<number> {
    if (!isInFilter(envFilter, env)) return 0;
    const approval = await this.#ports.store.approvals.get(tenantId, this.approvalIdOf(tenantId));
    return approval?.status === 'pending' && approval.deadline > this.#ports.clock.now() ? 1 : 0;
  }

  #idOf(tenantId: string, what: string): string {
    return contentId(this.#ports.secrets.sha256(JSON.stringify([tenantId, 'sample-run', what])));
  }

  #runOf(tenantId: string): SampleRun {
    return {
      agentId,
      sessionId,
      runId: this.#ports.secrets.namedUuid(tenantId, 'sample-run'),
      rulesetName: sample.rulesetName,
      approvalId: this.approvalIdOf(tenantId),
    };
  }

  #yaml(): string {
    return sampleRuleset({
      apiVersion: this.#ports.settings.wire.apiVersions[0] ?? 'service/v1',
      kind: this.#ports.settings.wire.rulesetKinds[0] ?? 'Ruleset',
    });
  }

  #judge(tenantId: string, { tool, args }: SampleCall): Promise<Evaluation> {
    return this.#ports.evaluator.evaluate(tenantId, {
      yaml: this.#yaml(),
      call: { tool, args, environment: env, principal: null, cwd: null, metadata: null },
      toolArguments: {},
      words: { tools: [], selectors: [], operators: [] },
    });
  }

  /** The environment for the ruleset; null where the caller may not change it. */
  async #deployTarget(principal: Principal): Promise<typeof env | null> {
    const { environments } = this.#ports;
    const isClosed =
      (await environments.isProtected(principal.tenantId, env)) &&
      !(await environments.mayChange(principal, env));
    return isClosed ? null : env;
  }

  async #make(principal: Principal): Promise<void> {
    const { tenantId } = principal;
    const { clock, store, rulesets, secrets } = this.#ports;
    const run = this.#runOf(tenantId);
    const text = this.#yaml();
    const judged = await Promise.all(sampleCalls.map((call) => this.#judge(tenantId, call)));
    const asking = judged
      .at(-1)
      ?.contracts_evaluated.find(({ fired, effect }) => fired && effect === 'approve');
    const call = sampleCalls.at(-1);
    if (!call || !asking) throw new Error('The sample ruleset does not ask.');
    const now = clock.now();
    const approval = pendingApproval(
      {
        ...sampleRequest,
        toolName: call.tool,
        toolArgs: call.args,
        message: asking.message ?? '',
        contractName: asking.id,
        callId: call.id,
      },
      {
        id: run.approvalId,
        tenantId,
        env,
        argsBytes: Buffer.byteLength(JSON.stringify(call.args)),
        createdAt: now,
      },
    );
    // A workspace that shows its own ruleset under this name keeps it.
    if (
      (await store.bundles.listVersions(tenantId, sample.rulesetName, { limit: 1, offset: 0 })).items
        .length === 0
    ) {
      await rulesets.deploy(systemPrincipal(tenantId, 'sample-run'), {
        name: sample.rulesetName,
        yaml: new TextEncoder().encode(text),
        env: await this.#deployTarget(principal),
        force: false,
        reason: null,
        match: null,
        noneMatch: null,
      });
    }
    const { createdAt } = await store.approvals.request(approval);
    // Nobody is notified: a sample wakes no one.
    await store.approvals.announced(tenantId, 'pending', [run.approvalId]);
    const events = sampleEvents(judged, {
      runId: run.runId,
      policyVersion: secrets.sha256(text),
      endsAt: createdAt,
      idOf: (place) => this.#idOf(tenantId, `event ${createdAt} ${place}`),
    });
    await store.events.ingest({ tenantId, env, receivedAt: now, events, sample: true });
  }

  /** Completes an interrupted removal first. */
  async #makeUnlessThere(principal: Principal, count: CountLimit): Promise<Ensured> {
    const { tenantId } = principal;
    const { store, clock } = this.#ports;
    await count(limits.sampleRuns);
    const { approvalId, runId } = this.#runOf(tenantId);
    const [run, approval] = await Promise.all([
      store.runs.get(tenantId, { agentId, sessionId }, clock.now()),
      store.approvals.get(tenantId, approvalId),
    ]);
    // A run that exists keeps its id.
    if (run?.facts && approval) return { created: false, runId: run.facts.runId ?? runId };
    if (run?.facts) await store.events.removeSample(tenantId);
    await this.#make(principal);
    return { created: true, runId };
  }
}

export const createSampleRuns = (ports: Ports): SampleRuns => new WorkspaceSamples(ports);

interface Making {
  readonly runId: string;
  readonly policyVersion: string;
  /** Time of the last one; the others are a minute apart before it. */
  readonly endsAt: number;
  idOf(place: number): string;
}

/** The agent's reports about its calls, and about its workflow before the last call. */
function sampleEvents(
  judged: readonly Evaluation[],
  { runId, policyVersion, endsAt, idOf }: Making,
): EventInput[] {
  const reports: { readonly call: SampleCall; readonly verdict: string; readonly more: object }[] = [];
  for (const [i, call] of sampleCalls.entries()) {
    const evaluation = judged[i];
    const isLast = i === sampleCalls.length - 1;
    const fired = evaluation?.contracts_evaluated.find((one) => one.fired);
    const why = fired
      ? { decisionSource: 'yaml_precondition', decisionName: fired.id, reason: fired.message }
      : {};
    if (isLast) {
      const workflow = sampleWorkflow(false);
      reports.push({
        call: { ...call, tool: 'workflow' },
        verdict: 'workflow_stage_advanced',
        more: { workflow },
      });
    }
    const verdictAction = actionOf(evaluation?.verdict ?? 'allow', fired !== undefined);
    const snapshot = verdictAction === 'call_asked' ? { workflow: sampleWorkflow(true) } : {};
    reports.push({
      call,
      verdict: verdictAction,
      more: { ...why, ...snapshot, sessionAttemptCount: i + 1 },
    });
    if (call.executed && verdictAction !== 'call_blocked') {
      reports.push({ call, verdict: 'call_executed', more: { toolSuccess: true } });
    }
  }
  return reports.map(({ call, verdict, more }, place) => ({
    callId: idOf(place),
    flat: true,
    givenCallId: call.id,
    agentId: sample.agentId,
    toolName: call.tool,
    verdict,
    mode: verdict === 'call_would_block' ? 'observe' : 'enforce',
    timestamp: endsAt - (reports.length - 1 - place) * 60_000,
    payload: snakeKeys({
      toolArgs: call.args,
      environment: sample.env,
      sessionId: sample.sessionId,
      runId,
      callIndex: place,
      policyVersion,
      ...more,
    }),
  }));
}

/** The agent's word for a verdict. */
function actionOf(verdict: string, hasFired: boolean): string {
  if (verdict === 'deny') return 'call_blocked';
  if (verdict === 'approve') return 'call_asked';
  return hasFired ? 'call_would_block' : 'call_allowed';
}
