// The sample run of a workspace: made once, whoever asks and however often. Everything of it has an id that follows from the workspace, and its
// approval, whose first insert wins, says when it was made: so that two that make it at once write the same.
import { BoundedMap } from '../concurrency/bounded-map.ts';
import type { Approval } from '../domain/approval.ts';
import { contentId } from '../domain/decision-event.ts';
import type { EventInput } from '../domain/event.ts';
import { type Principal, systemPrincipal } from '../domain/principal.ts';
import { type SampleCall, sample, sampleCalls, sampleRuleset, sampleWorkflow } from '../domain/sample-run.ts';
import type { Evaluation } from '../ports/evaluator.ts';
import type { AppPorts } from './ports.ts';
import type { Rulesets } from './rulesets.ts';

export interface SampleRun {
  readonly agentId: string;
  readonly sessionId: string;
  readonly runId: string;
  readonly rulesetName: string;
  readonly approvalId: string;
}

export interface SampleRuns {
  /** `created`: it was not there. Safe to repeat, also at once. @throws HubError unavailable (signing_unavailable) and others */
  ensure(principal: Principal): Promise<SampleRun & { readonly created: boolean }>;
  /** Removes its events and the run; its ruleset stays. Safe to repeat. */
  remove(principal: Principal): Promise<void>;
}

const minuteMs = 60_000;
const maxUnderWay = 1_000;

type Ports = Pick<AppPorts, 'store' | 'evaluator' | 'clock' | 'secrets' | 'settings'> & {
  readonly rulesets: Rulesets;
};

export function createSampleRuns({
  store,
  evaluator,
  clock,
  secrets,
  settings,
  rulesets,
}: Ports): SampleRuns {
  const idOf = (tenantId: string, what: string): string =>
    contentId(secrets.sha256(JSON.stringify([tenantId, 'sample-run', what])));
  const underWay = new BoundedMap<Promise<unknown>>(maxUnderWay);
  const { agentId, sessionId, env } = sample;

  const runOf = (tenantId: string): SampleRun => ({
    agentId,
    sessionId,
    runId: idOf(tenantId, 'run'),
    rulesetName: sample.ruleset,
    approvalId: idOf(tenantId, 'approval'),
  });

  const yaml = (): string =>
    sampleRuleset({
      apiVersion: settings.wire.apiVersions[0] ?? 'service/v1',
      kind: settings.wire.rulesetKinds[0] ?? 'Ruleset',
    });

  const judge = (tenantId: string, { tool, args }: SampleCall): Promise<Evaluation> =>
    evaluator.evaluate(tenantId, {
      yaml: yaml(),
      call: { tool, args, environment: env, principal: null, cwd: null, metadata: null },
      toolArguments: {},
      words: { tools: [], selectors: [], operators: [] },
    });

  async function make(tenantId: string): Promise<void> {
    const run = runOf(tenantId);
    const text = yaml();
    const judged = await Promise.all(sampleCalls.map((call) => judge(tenantId, call)));
    const asking = judged
      .at(-1)
      ?.contracts_evaluated.find(({ fired, effect }) => fired && effect === 'approve');
    const call = sampleCalls.at(-1);
    if (!call || !asking) throw new Error('The sample ruleset does not ask.');
    const now = clock.now();
    const approval: Approval = {
      id: run.approvalId,
      tenantId,
      status: 'pending',
      agentId,
      toolName: call.tool,
      toolArgs: call.args,
      argsBytes: Buffer.byteLength(JSON.stringify(call.args)),
      message: asking.message ?? '',
      env,
      timeoutSeconds: sample.timeoutSeconds,
      timeoutEffect: 'deny',
      decisionSource: 'yaml_precondition',
      contractName: asking.id,
      contracts: null,
      principal: null,
      sessionId,
      callId: call.id,
      decidedBy: null,
      decidedAt: null,
      decisionReason: null,
      decidedVia: null,
      createdAt: now,
      deadline: now + sample.timeoutSeconds * 1000,
    };
    // A workspace that shows its own ruleset under this name keeps it.
    if (
      (await store.bundles.versions(tenantId, sample.ruleset, { limit: 1, offset: 0 })).items.length === 0
    ) {
      await rulesets.put(systemPrincipal(tenantId, 'sample-run'), {
        name: sample.ruleset,
        yaml: new TextEncoder().encode(text),
        env,
        force: false,
        match: null,
        noneMatch: null,
      });
    }
    const { createdAt } = await store.approvals.insert(approval);
    // Nobody is told: a sample wakes no one.
    await store.approvals.announced(tenantId, 'pending', [run.approvalId]);
    const events = sampleEvents(judged, {
      runId: run.runId,
      policyVersion: secrets.sha256(text),
      endsAt: createdAt,
      idOf: (place) => idOf(tenantId, `event ${createdAt} ${place}`),
    });
    await store.events.ingest({ tenantId, env, receivedAt: now, events, sample: true });
  }

  return {
    async ensure({ tenantId }) {
      const run = runOf(tenantId);
      const now = clock.monotonic();
      const same = underWay.get(tenantId, now);
      if (same) {
        await same;
        return { ...run, created: false };
      }
      // Registered before anything is awaited, so that of any number of calls one makes it.
      const making = (async () => {
        const found = await store.runs.get(tenantId, { agentId, sessionId }, clock.now());
        if (found?.facts) return false;
        await make(tenantId);
        return true;
      })();
      underWay.set(tenantId, making, Number.POSITIVE_INFINITY);
      try {
        return { ...run, created: await making };
      } finally {
        underWay.delete(tenantId);
      }
    },

    remove: ({ tenantId }) => store.events.removeSample(tenantId),
  };
}

interface Making {
  readonly runId: string;
  readonly policyVersion: string;
  /** When the last one happened; the others a minute apart before it. */
  readonly endsAt: number;
  idOf(place: number): string;
}

/** What the agent reports of its calls, and of its workflow before the last. */
function sampleEvents(
  judged: readonly Evaluation[],
  { runId, policyVersion, endsAt, idOf }: Making,
): EventInput[] {
  const reports: { readonly call: SampleCall; readonly verdict: string; readonly more: object }[] = [];
  for (const [i, call] of sampleCalls.entries()) {
    const { verdict, contracts_evaluated: contracts } = judged[i] ?? {
      verdict: 'allow',
      contracts_evaluated: [],
    };
    const isLast = i === sampleCalls.length - 1;
    const fired = contracts.find((one) => one.fired);
    const why = fired
      ? { decision_source: 'yaml_precondition', decision_name: fired.id, reason: fired.message }
      : {};
    if (isLast) {
      const workflow = sampleWorkflow(false);
      reports.push({
        call: { ...call, tool: 'workflow' },
        verdict: 'workflow_stage_advanced',
        more: { workflow },
      });
    }
    const said =
      verdict === 'deny'
        ? 'call_blocked'
        : verdict === 'approve'
          ? 'call_asked'
          : fired
            ? 'call_would_block'
            : 'call_allowed';
    const snapshot = said === 'call_asked' ? { workflow: sampleWorkflow(true) } : {};
    reports.push({ call, verdict: said, more: { ...why, ...snapshot } });
    if (call.executed && said !== 'call_blocked') {
      reports.push({ call, verdict: 'call_executed', more: { tool_success: true } });
    }
  }
  return reports.map(({ call, verdict, more }, place) => ({
    call_id: idOf(place),
    flat: true,
    given_call_id: call.id,
    agent_id: sample.agentId,
    tool_name: call.tool,
    verdict,
    mode: verdict === 'call_would_block' ? 'observe' : 'enforce',
    timestamp: endsAt - (reports.length - 1 - place) * minuteMs,
    payload: {
      tool_args: call.args,
      environment: sample.env,
      session_id: sample.sessionId,
      run_id: runId,
      call_index: place,
      policy_version: policyVersion,
      ...more,
    },
  }));
}
