// Replays: what a document would have decided on the calls that agents reported, against another. Reads calls in
// portions, newest first, and has each portion judged in a thread; ends honestly when its time is over. Changes
// nothing. Keeps promise P43.
import type { Admission } from '../../admission/admission.ts';
import { type CountLimit, limits } from '../../admission/limit.ts';
import type { BundleVersion } from '../../bundle/record.ts';
import { textOf } from '../../bundle/rules/deployable.ts';
import type { Compositions } from '../../composition/use-cases/compositions.ts';
import type { EventPage } from '../../event/port.ts';
import type { EventFilter } from '../../event/rules/filter.ts';
import { listedEnvs, requireRole, seesEnv } from '../../shared/access.ts';
import { dayMs } from '../../shared/duration.ts';
import { HubError, notFound, refused } from '../../shared/error.ts';
import type { Env } from '../../shared/ids.ts';
import type { Principal } from '../../shared/principal.ts';
import type { TimeRange } from '../../shared/time-range.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { ReplayDocuments, Replayer, ReplayOutline } from '../port/replayer.ts';
import type { ReplaySide, ReplaySize, ReplayWindow } from '../record.ts';
import { wordsOf } from '../rules/custom-words.ts';
import { type JudgedCall, type ReplayReport, reportOf } from '../rules/replay.ts';
import { decidingVerdicts, ReplayCalls } from '../rules/replay-call.ts';

/** A saved version, the newest one without a number; a text that need not be saved; or a composition. */
export type ReplayCandidate =
  | { readonly name: string; readonly version: number | null }
  | { readonly yaml: string }
  | { readonly composition: string };

export interface ReplayRequest {
  readonly candidate: ReplayCandidate;
  /** The version that it is compared with; null: what is deployed. */
  readonly base: number | null;
  /**
   * The version before the candidate's stands for a base that is not deployed, and there must be one. Else nothing
   * does, which allows all.
   */
  readonly baseRequired: boolean;
  /** Required name of the candidate; null for any. */
  readonly name: string | null;
  /** The caller's word for a document. */
  readonly noun: 'Bundle' | 'Ruleset';
  /** Null: the calls of every environment. */
  readonly env: Env | null;
  /** Epoch milliseconds, inclusive; null: the last 7 days, until now. */
  readonly since: number | null;
  readonly until: number | null;
  readonly agentId: string | null;
  readonly sessionId: string | null;
  /** At most, the newest. */
  readonly maxCalls: number;
  /** Of so many sessions, those with the newest calls, and the calls of none; null: of all. */
  readonly maxSessions: number | null;
  readonly maxResults: number;
  readonly changedOnly: boolean;
}

export interface Replay extends ReplayReport, ReplaySize {
  readonly name: string;
  /** Null: nothing, which allows every call. */
  readonly base: ReplaySide | null;
  readonly candidate: ReplaySide;
  readonly window: ReplayWindow;
  readonly skippedRules: ReplayOutline['skipped'];
}

export interface Replays {
  /**
   * @throws HubError forbidden, not_found, unprocessable (what is wrong with which document; the window; a base that is
   *   missing; another name), rate_limited (replay_busy when too many run), overloaded, search_timeout
   */
  run(principal: Principal, request: ReplayRequest, count: CountLimit): Promise<Replay>;
}

const usualWindowMs = 7 * dayMs;
/** Calls read and judged at once. */
const portion = 1000;
/** Milliseconds of reading and judging together. */
export const replayBudgetMs = 5000;

interface Document extends ReplaySide {
  readonly yaml: string;
  /** Bundle that the text belongs to; null: the text names it. */
  readonly name: string | null;
}

type Ports = Pick<AppPorts, 'admission' | 'store' | 'evaluator' | 'replayer' | 'clock' | 'secrets'> & {
  readonly compositions: Pick<Compositions, 'preview'>;
};

class BundleReplays implements Replays {
  readonly #ports: Ports;
  readonly #admission: Admission;

  constructor(ports: Ports) {
    this.#ports = ports;
    this.#admission = ports.admission;
  }

  run(principal: Principal, request: ReplayRequest, count: CountLimit): Promise<Replay> {
    requireRole(principal, 'operator', request.env);
    const { tenantId } = principal;
    const until = request.until ?? this.#ports.clock.now();
    const since = request.since ?? until - usualWindowMs;
    if (until < since) {
      throw new HubError(
        'unprocessable',
        'The time range ends before it begins. Choose an until that is not before since.',
      );
    }
    const visibleEnvs = listedEnvs(principal, request.env);
    return this.#admission.run({ tenantId }, 'replays', async () => {
      await count(limits.replays);
      return this.#replay(principal, request, { since, until }, visibleEnvs);
    });
  }

  async #replay(
    principal: Principal,
    request: ReplayRequest,
    { since, until }: TimeRange,
    visibleEnvs: EventFilter['env'],
  ): Promise<Replay> {
    const { evaluator, store, replayer } = this.#ports;
    const { tenantId } = principal;
    const { env, agentId, sessionId } = request;
    const candidate = await this.#candidateOf(principal, request);
    const name = candidate.name ?? (await evaluator.outline(tenantId, candidate.yaml)).name;
    if (request.name !== null && request.name !== name) {
      throw refused(
        'name_mismatch',
        `The document's metadata.name is '${name}', but the path's name is '${request.name}'. Use the same name in both.`,
      );
    }
    const base = await this.#baseOf(principal, name, candidate, request);
    const tools = await store.settings.get(tenantId, 'tools');
    const documents: ReplayDocuments = {
      base: base?.yaml ?? null,
      candidate: candidate.yaml,
      toolArguments: tools?.value.toolArguments ?? {},
      words: wordsOf(tools),
    };
    const outline = await replayer.outline(tenantId, documents);
    const filter: EventFilter = {
      env: visibleEnvs,
      since,
      until,
      verdicts: decidingVerdicts,
      ...(agentId === null ? {} : { agentId }),
      ...(sessionId === null ? {} : { sessionId }),
    };
    const result = await this.#judgeAll(tenantId, documents, filter, request, outline.elapsedMs);
    const { calls } = result.calls;
    const counters = result.calls.counters();
    const counted = calls.map(({ tool }, place) => ({ tool, counters: counters[place] ?? null }));
    const limited = await replayer.limits(tenantId, documents, counted);
    const report = reportOf(calls, (place) => judgedAt(result.judged[place], limited.judged[place]), request);
    return {
      ...report,
      name,
      base: base && sideOf(base),
      candidate: sideOf(candidate),
      window: { since, until, env },
      callsSeen: calls.length,
      callsInWindow: result.isWhole
        ? calls.length
        : Math.max(calls.length, await store.events.count(tenantId, filter)),
      skippedRules: outline.skipped,
      truncated: result.truncated,
    };
  }

  /** @throws HubError not_found */
  async #saved(
    tenantId: string,
    name: string,
    version: number | null,
    noun: ReplayRequest['noun'],
  ): Promise<Document> {
    const { store } = this.#ports;
    const bundle: BundleVersion | null =
      version === null
        ? ((await store.bundles.listVersions(tenantId, name, { limit: 1, offset: 0 })).items[0] ?? null)
        : await store.bundles.getVersion(tenantId, name, version);
    const bytes = bundle && (await store.bundles.getYaml(tenantId, name, bundle.version));
    if (!bundle || !bytes) {
      const which = version === null ? '' : ` version ${version}`;
      throw notFound(`${noun} '${name}'${which} not found.`);
    }
    return { name, version: bundle.version, revisionHash: bundle.revisionHash, yaml: textOf(bytes) };
  }

  #unsaved(yaml: string): Document {
    return {
      name: null,
      version: null,
      revisionHash: this.#ports.secrets.sha256(yaml),
      yaml,
    };
  }

  /** @throws HubError not_found, unprocessable */
  async #candidateOf(principal: Principal, { candidate, noun }: ReplayRequest): Promise<Document> {
    if ('yaml' in candidate) return this.#unsaved(candidate.yaml);
    if ('name' in candidate) return this.#saved(principal.tenantId, candidate.name, candidate.version, noun);
    const { assembly } = await this.#ports.compositions.preview(principal, candidate.composition);
    const [problem] = assembly.problems;
    if (problem !== undefined) throw new HubError('unprocessable', problem);
    return this.#unsaved(assembly.yaml);
  }

  /** The deployed version of the name: in the environment, else in its latest deployment that the principal sees. */
  async #deployedVersion(principal: Principal, env: Env | null, name: string): Promise<number | null> {
    const { deployments } = this.#ports.store;
    const { tenantId } = principal;
    if (env !== null) return (await deployments.getCurrent(tenantId, env, name))?.version ?? null;
    const all = (await deployments.listAllCurrent(tenantId)).filter(
      (deployment) => deployment.bundleName === name && seesEnv(principal, deployment.env),
    );
    return all.sort((a, b) => b.createdAt - a.createdAt)[0]?.version ?? null;
  }

  /** @throws HubError not_found, unprocessable */
  async #baseOf(
    principal: Principal,
    name: string,
    candidate: Document,
    { base, baseRequired, env, noun }: ReplayRequest,
  ): Promise<Document | null> {
    const { tenantId } = principal;
    const version = base ?? (await this.#deployedVersion(principal, env, name));
    if (version !== null) return this.#saved(tenantId, name, version, noun);
    if (!baseRequired) return null;
    const before = candidate.version === null ? null : candidate.version - 1;
    const previousReplay =
      before === 0 ? null : await this.#saved(tenantId, name, before, noun).catch(ifAbsent);
    if (previousReplay) return previousReplay;
    throw new HubError(
      'unprocessable',
      `The replay has no version to compare with: '${name}' is not deployed, and this is its first version. Name a base.`,
    );
  }

  /** Judges the newest calls that fit, portion by portion, as long as there is time. */
  async #judgeAll(
    tenantId: string,
    documents: ReplayDocuments,
    filter: EventFilter,
    { maxCalls, maxSessions }: ReplayRequest,
    spentMs: number,
  ) {
    const calls = new ReplayCalls({ maxCalls, maxSessions });
    const judged: Pick<JudgedCall, 'base' | 'candidate'>[] = [];
    let leftMs = replayBudgetMs - spentMs;
    const read = (cursor: string | null) =>
      this.#ports.store.events.search(tenantId, filter, portion, cursor);
    const [firstMs, first] = await this.#timed(() => read(null));
    leftMs -= firstMs;
    for (let page: EventPage = first; ; ) {
      const added = calls.take(page.events);
      const { next: cursor } = page;
      // The next portion is read while this one is judged.
      const [bothMs, [firstPage, next]] = await this.#timed(() =>
        Promise.all([
          added.length === 0
            ? nothing
            : this.#ports.replayer.judge(tenantId, documents, added, Math.max(0, leftMs)),
          cursor === null || calls.isFull ? null : read(cursor),
        ]),
      );
      leftMs -= Math.max(bothMs, firstPage.elapsedMs);
      judged.push(...firstPage.judged);
      const isOver = judged.length < calls.calls.length || (next !== null && leftMs <= 0);
      if (isOver) calls.cut(judged.length);
      if (isOver || next === null) {
        return { calls, judged, isWhole: cursor === null && !isOver && !calls.leftOut, truncated: isOver };
      }
      page = next;
    }
  }

  async #timed<T>(work: () => Promise<T>): Promise<readonly [ms: number, result: T]> {
    const began = this.#ports.clock.monotonic();
    const result = await work();
    return [this.#ports.clock.monotonic() - began, result];
  }
}

export const createReplays = (ports: Ports): Replays => new BundleReplays(ports);

const nothing = { judged: [], elapsedMs: 0 };

const sideOf = ({ version, revisionHash }: Document): ReplaySide => ({ version, revisionHash });

function ifAbsent(error: unknown): null {
  if (error instanceof HubError && error.code === 'not_found') return null;
  throw error;
}

type Judged = Awaited<ReturnType<Replayer['judge']>>['judged'][number];
type Limited = Awaited<ReturnType<Replayer['limits']>>['judged'][number];

/** The replayer answers every call that it was given. */
function judgedAt(judged: Judged | undefined, limited: Limited | undefined): JudgedCall {
  if (!judged || !limited) throw new HubError('internal', 'A replayed call was not judged.');
  return { ...judged, baseLimits: limited.base, candidateLimits: limited.candidate };
}
