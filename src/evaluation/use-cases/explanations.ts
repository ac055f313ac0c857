// Why a stored call was decided as it was: from the conditions that the agent recorded, else by evaluating the agent's
// document on the parts of the call that are stored. Keeps promise P70.
import type { Admission } from '../../admission/admission.ts';
import { textOf } from '../../bundle/rules/deployable.ts';
import type { Deployment } from '../../deployment/record.ts';
import type { VerdictWord } from '../../event/record/words.ts';
import {
  conditionsIn,
  countedAs,
  type EventCondition,
  policyVersionOf,
  readConditions,
  type StoredEvent,
} from '../../event/record.ts';
import { eventGrammar } from '../../event/rules/query/fields.ts';
import { printQuery, valueTerm } from '../../event/rules/query/print.ts';
import type { EventSearches } from '../../event/use-cases/search.ts';
import type { Runs } from '../../run/use-cases/runs.ts';
import { listedEnvs } from '../../shared/access.ts';
import { dayMs } from '../../shared/duration.ts';
import { HubError } from '../../shared/error.ts';
import { type Env, type EnvFilter, environments } from '../../shared/ids.ts';
import { actorName, type Principal } from '../../shared/principal.ts';
import { checkRange, type TimeRange } from '../../shared/time-range.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { ReplayDecision } from '../record.ts';
import { wordsOf } from '../rules/custom-words.ts';
import {
  type ExplainedCondition,
  type ExplainedContract,
  type Explanation,
  withLines,
} from '../rules/explanation.ts';
import { replayCallOf } from '../rules/replay-call.ts';
import type { RecentToolSettings } from './tool-settings.ts';

export interface ExplainedBundle {
  readonly name: string;
  readonly version: number;
  /** The deployment that was in force; null: the version was not deployed in the environment then. */
  readonly deployment: Pick<Deployment, 'id' | 'createdAt' | 'deployedBy'> | null;
}

export interface ExplainedEvent {
  readonly source: 'recorded' | 'recomputed' | 'unavailable';
  /** Reason why there are no conditions; null if there are. */
  readonly reason: string | null;
  readonly bundle: ExplainedBundle | null;
  readonly contractId: string | null;
  /** Null if the document or the contract in it is unknown. */
  readonly contract: ExplainedContract | null;
  readonly conditions: readonly ExplainedCondition[];
  /** Paths of values that the event does not contain, or only in part. */
  readonly uncertain: readonly string[];
  /** The same call under the version that the environment runs now; null: it runs none. */
  readonly now: {
    readonly version: number;
    /** The contract's text is the same. */
    readonly sameText: boolean;
    /** Null: uncertain. */
    readonly verdict: VerdictWord | null;
  } | null;
  readonly similar: { readonly q: string; readonly count: number };
}

export interface ExplainRange {
  readonly env: Env | null;
  /** Epoch milliseconds; null: the last 24 hours. */
  readonly since: number | null;
  readonly until: number | null;
}

export interface Explanations {
  /**
   * @param range in which similar calls are counted
   * @throws HubError not_found, too_busy (this person waits for others already), search_timeout
   */
  explain(principal: Principal, eventId: string, range: ExplainRange): Promise<ExplainedEvent>;
}

type Ports = Pick<AppPorts, 'admission' | 'store' | 'evaluator' | 'clock'> & {
  readonly eventSearches: Pick<EventSearches, 'get' | 'withEntries'>;
  readonly runs: { readonly names: Pick<Runs['names'], 'resolve'> };
  readonly recentToolSettings: RecentToolSettings;
};

/** Deployments of a name among which the one in force is looked for. */
const maxDeployments = 200;

const verdictOf = {
  allow: 'allowed',
  block: 'denied',
  ask: 'asked',
  wouldBlock: 'would_deny',
} as const satisfies { readonly [D in ReplayDecision]: VerdictWord };

const firstVerdict = {
  allowed: 'allowed',
  denied: 'denied',
  pending: 'asked',
  observed: 'would_deny',
} as const;

const textIn = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

interface Decision {
  readonly contractId: string | null;
  readonly conditions: readonly EventCondition[];
}

/** The first report on the call that names a contract, with the conditions in that report. */
function decisionOf({ payload, outcomes }: StoredEvent): Decision {
  const own = textIn(payload?.decision_name);
  if (own !== null) return { contractId: own, conditions: conditionsIn(payload?.conditions) };
  const outcome = outcomes.find(({ decisionName }) => textIn(decisionName) !== null);
  return {
    contractId: outcome?.decisionName ?? null,
    conditions: readConditions(outcome?.conditions) ?? [],
  };
}

interface Document {
  readonly bundle: ExplainedBundle;
  readonly revisionHash: string;
  readonly yaml: string;
}

class EventExplanations implements Explanations {
  readonly #ports: Ports;
  readonly #admission: Admission;

  constructor(ports: Ports) {
    this.#ports = ports;
    this.#admission = ports.admission;
  }

  explain(principal: Principal, eventId: string, range: ExplainRange): Promise<ExplainedEvent> {
    return this.#admission.run(
      { tenantId: principal.tenantId, person: actorName(principal.actor) },
      'explanations',
      () => this.#explain(principal, eventId, range),
    );
  }

  async #documentOf(
    tenantId: string,
    name: string,
    version: number,
    deployment: Deployment | null,
  ): Promise<Document | null> {
    const [saved, bytes] = await Promise.all([
      this.#ports.store.bundles.getVersion(tenantId, name, version),
      this.#ports.store.bundles.getYaml(tenantId, name, version),
    ]);
    if (!saved || !bytes) return null;
    const { revisionHash } = saved;
    return { bundle: { name, version, deployment }, revisionHash, yaml: textOf(bytes) };
  }

  /** The document that decided the call: the one that the event names by its hash, else the one in force then. */
  async #documentThen(tenantId: string, env: Env, event: StoredEvent): Promise<Document | null> {
    const policyVersion = policyVersionOf(event);
    const key = await this.#ports.runs.names.resolve(tenantId, env, policyVersion);
    const bundleName = key?.name ?? (policyVersion === null ? textIn(event.payload?.bundle_name) : null);
    if (bundleName === null) return null;
    const { items } = await this.#ports.store.deployments.list(
      tenantId,
      { env, bundleName },
      { limit: maxDeployments, offset: 0 },
    );
    const before = items.filter(({ createdAt }) => createdAt <= event.timestamp);
    if (key === null) {
      const inForce = before[0];
      return inForce ? this.#documentOf(tenantId, bundleName, inForce.version, inForce) : null;
    }
    const inForce = before.find(({ version }) => version === key.version) ?? null;
    return this.#documentOf(tenantId, bundleName, key.version, inForce);
  }

  async #documentNow(tenantId: string, env: Env, name: string | null): Promise<Document | null> {
    const current =
      name === null ? null : await this.#ports.store.deployments.getCurrent(tenantId, env, name);
    return current && this.#documentOf(tenantId, current.bundleName, current.version, current);
  }

  /** Null for a document that no agent loads. */
  async #explained(
    tenantId: string,
    yaml: string,
    contractId: string | null,
    event: StoredEvent,
  ): Promise<Explanation | null> {
    const tools = await this.#ports.recentToolSettings.get(tenantId);
    const toolArguments = tools?.value.toolArguments ?? {};
    const call = replayCallOf(event);
    try {
      return await this.#ports.evaluator.explain(tenantId, {
        yaml,
        contractId,
        call,
        toolArguments,
        words: wordsOf(tools),
      });
    } catch (error) {
      if (error instanceof HubError && error.code === 'unprocessable') return null;
      throw error;
    }
  }

  async #similarTo(
    principal: Principal,
    event: StoredEvent,
    contractId: string | null,
    range: TimeRange & { readonly env: EnvFilter },
  ): Promise<ExplainedEvent['similar']> {
    const terms = [
      valueTerm('tool', event.toolName),
      ...(contractId === null ? [] : [valueTerm('contract', contractId)]),
      valueTerm('verdict', firstVerdict[countedAs(event.verdict, event.mode)]),
    ];
    const filter = await this.#ports.eventSearches.withEntries(principal, { ...range, query: { terms } });
    const count = await this.#ports.store.events.count(principal.tenantId, filter);
    return { q: printQuery({ terms }, eventGrammar), count };
  }

  async #explain(principal: Principal, eventId: string, range: ExplainRange): Promise<ExplainedEvent> {
    const { tenantId } = principal;
    const until = range.until ?? this.#ports.clock.now() + 1;
    const similarRange = {
      env: listedEnvs(principal, range.env),
      since: range.since ?? until - dayMs,
      until,
    };
    checkRange(similarRange);
    const event = await this.#ports.eventSearches.get(principal, eventId);
    const env = environments.find((one) => one === event.env);
    const { contractId, conditions: recorded } = decisionOf(event);
    const then = env === undefined ? null : await this.#documentThen(tenantId, env, event);
    const name = then?.bundle.name ?? textIn(event.payload?.bundle_name);
    const [current, similar] = await Promise.all([
      env === undefined ? null : this.#documentNow(tenantId, env, name),
      this.#similarTo(principal, event, contractId, similarRange),
    ]);
    const before = then && (await this.#explained(tenantId, then.yaml, contractId, event));
    const isSame = then !== null && then.revisionHash === current?.revisionHash;
    const after = isSame
      ? before
      : current && (await this.#explained(tenantId, current.yaml, contractId, event));
    const conditions =
      recorded.length > 0 ? withLines(recorded, before?.conditions ?? []) : (before?.conditions ?? []);
    const source = recorded.length > 0 ? 'recorded' : conditions.length > 0 ? 'recomputed' : 'unavailable';
    const uncertain = conditions.filter(({ result }) => result === 'uncertain').map(({ path }) => path);
    return {
      source,
      reason: source === 'unavailable' ? reasonOf(contractId, then, before) : null,
      bundle: then?.bundle ?? null,
      contractId,
      contract: before?.contract ?? null,
      conditions,
      uncertain: [...new Set(uncertain)],
      now: current && {
        version: current.bundle.version,
        sameText: isSame || (!!after?.contract && after.contract.yaml === before?.contract?.yaml),
        verdict: after?.decision ? verdictOf[after.decision] : null,
      },
      similar,
    };
  }
}

export const createExplanations = (ports: Ports): Explanations => new EventExplanations(ports);

function reasonOf(
  contractId: string | null,
  document: Document | null,
  explanation: Explanation | null,
): string {
  if (contractId === null) return 'No contract decided this call.';
  if (document === null) return 'The hub does not have the document that the agent used for this call.';
  const version = `${document.bundle.name} v${document.bundle.version}`;
  if (explanation === null) return `The hub cannot evaluate ${version}: agents do not load it.`;
  if (explanation.contract === null) {
    return `${version} has no contract '${contractId}': a limit or the agent itself decided.`;
  }
  return 'The contract has no conditions that the hub can evaluate.';
}
