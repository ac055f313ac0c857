// Evidence of a run: its events, approvals and documents, read for a bundle that is signed with the workspace's active
// key.
import type { Admission } from '../../admission/admission.ts';
import type { Approval } from '../../approval/record.ts';
import { asSeen } from '../../approval/rules/state.ts';
import type { RulesetVersionKey } from '../../bundle/record.ts';
import { policyVersionOf, type StoredEvent } from '../../event/record.ts';
import { runIdOf } from '../../event/rules/decision.ts';
import type { EventFilter } from '../../event/rules/filter.ts';
import { listedEnvs, requireRole, requireSight, visibleEnvs } from '../../shared/access.ts';
import { notFound, refused } from '../../shared/error.ts';
import { environments, isEnv } from '../../shared/ids.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import { activeSigner } from '../../signing/rules/active-signer.ts';
import type { RunKey } from '../record.ts';
import { maxBundleBytes, maxBundleEvents } from '../rules/decision-bundle.ts';
import type { Runs, RunView } from './runs.ts';

/** Places in the order of arrival, both inclusive; null: no bound. */
export interface EvidenceRange {
  readonly from: number | null;
  readonly to: number | null;
}

export interface UsedRuleset {
  readonly policyVersion: string;
  /** Null when no stored version has these bytes. */
  readonly ruleset: RulesetVersionKey | null;
  /** Of a deployment of it: hex, and the public key that checks it. */
  readonly signature: { readonly hex: string; readonly publicKey: string } | null;
}

/** Facts about a run that are known before its events are read. */
export interface EvidenceHead {
  readonly view: RunView;
  /** Oldest first, with all their arguments that are kept. */
  readonly approvals: readonly Approval[];
  /** Older ones, for which there was no room. */
  readonly approvalsLeftOut: number;
}

/** Writes the evidence of one run. */
export interface EvidenceWriter {
  /** Events come by the agent's time, then arrival. @returns bytes that it takes */
  add(event: StoredEvent): number;
}

export interface Evidence<W> {
  readonly head: EvidenceHead;
  readonly writer: W;
  readonly events: number;
  readonly firstAt: number | null;
  readonly lastAt: number | null;
  readonly lastSeq: number;
  readonly runIds: readonly string[];
  readonly rulesets: readonly UsedRuleset[];
}

export interface SignedBytes {
  /** Hex. */
  readonly signature: string;
  readonly publicKey: string;
  readonly keyId: string;
}

export interface EvidenceOfRuns {
  /**
   * Reads a run, a page at a time. One at a time for a tenant, two for the process; then 429.
   * @param open is called once, before the first event is read
   * @param sizeOf bytes that an event takes
   * @throws HubError forbidden, not_found, response_too_large (run_too_large, with the parts to ask for), rate_limited
   */
  collect<W extends EvidenceWriter>(
    principal: Principal,
    key: RunKey,
    range: EvidenceRange,
    open: (head: EvidenceHead) => W,
    sizeOf: (event: StoredEvent) => number,
  ): Promise<Evidence<W>>;
  /**
   * @param signed a typed payload in its envelope (signing/rules/envelope)
   * @throws HubError unavailable (signing_unavailable)
   */
  sign(principal: Principal, signed: Uint8Array): Promise<SignedBytes>;
}

/** Events in memory at a time: V8 reserves memory by how much it finds in use when it looks. */
const pageSize = 100;
const approvalsAtOnce = 100;
/** Bytes of a bundle that approvals take at most. */
const maxApprovalBytes = 1.5 * 1024 * 1024;
const maxDeployments = 200;
/** Events looked at for the parts of a run that is too large for one bundle. */
const maxCounted = 400_000;
/** Maximum of events in a part: less than in a bundle, because the part's other fields need room. */
const partEvents = 15_000;
const partBytes = 5 * 1024 * 1024;
const shownParts = 20;

/**
 * The same events in pages whose events of one time are by `seq`: how a store orders those of one time is its own.
 */
async function* inOrder(
  pages: AsyncIterable<readonly StoredEvent[]>,
): AsyncGenerator<readonly StoredEvent[]> {
  let open: StoredEvent[] = [];
  for await (const page of pages) {
    const last = page.at(-1)?.timestamp;
    const ready = [...open, ...page];
    // Of the newest time there may be more on the next page.
    open = ready.filter(({ timestamp }) => timestamp === last);
    yield ready.slice(0, ready.length - open.length).sort(bySeq);
  }
  yield open.sort(bySeq);
}

const bySeq = (a: StoredEvent, b: StoredEvent): number => a.timestamp - b.timestamp || a.seq - b.seq;

/**
 * A bundle contains a run whole or not at all.
 * @throws HubError not_found after retention or a purge removed records of the run
 */
function requireComplete({ run }: RunView): void {
  if (!run.isTrimmed) return;
  throw notFound(
    'Retention or a purge removed records of this run, so no decision bundle can be made. Keep events and approvals longer.',
  );
}

type Ports = Pick<AppPorts, 'admission' | 'store' | 'secrets' | 'clock'> & { readonly runs: Runs };

const seqsOf = ({ from, to }: EvidenceRange): Pick<EventFilter, 'fromSeq' | 'toSeq'> => ({
  ...(from === null ? {} : { fromSeq: from }),
  ...(to === null ? {} : { toSeq: to }),
});

class RunEvidence implements EvidenceOfRuns {
  readonly #ports: Ports;
  readonly #admission: Admission;

  constructor(ports: Ports) {
    this.#ports = ports;
    this.#admission = ports.admission;
  }

  collect<W extends EvidenceWriter>(
    principal: Principal,
    key: RunKey,
    range: EvidenceRange,
    open: (head: EvidenceHead) => W,
    sizeOf: (event: StoredEvent) => number,
  ): Promise<Evidence<W>> {
    return this.#admission.run({ tenantId: principal.tenantId }, 'decisionBundles', () =>
      this.#collect(principal, key, range, open, sizeOf),
    );
  }

  async sign({ tenantId }: Principal, signed: Uint8Array): Promise<SignedBytes> {
    const { store, secrets } = this.#ports;
    const { publicKey, keyId, sign } = activeSigner(await store.signing.getActive(tenantId), secrets);
    return { signature: sign(signed), publicKey, keyId };
  }

  async #collect<W extends EvidenceWriter>(
    principal: Principal,
    key: RunKey,
    range: EvidenceRange,
    open: (head: EvidenceHead) => W,
    sizeOf: (event: StoredEvent) => number,
  ): Promise<Evidence<W>> {
    requireRole(principal, 'viewer');
    const { tenantId } = principal;
    const env = listedEnvs(principal, null);
    const view = await this.#ports.runs.get(principal, key);
    if (!view) throw notFound('Run not found.');
    requireComplete(view);
    await this.#requireWhole(principal, view);
    // No event of a run is before its start.
    const filter: EventFilter = { env, ...key, since: view.run.startedAt, ...seqsOf(range) };
    const versions = new Set<string>();
    const runIds = new Set<string>();
    const approvals = await this.#approvalsOf(principal, key);
    const head = { view, approvals: approvals.approvals, approvalsLeftOut: approvals.leftOut };
    const writer = open(head);
    let { bytes } = approvals;
    let [events, lastSeq] = [0, 0];
    let firstAt: number | null = null;
    let lastAt: number | null = null;
    for await (const page of inOrder(this.#pages(tenantId, filter))) {
      for (const event of page) {
        bytes += writer.add(event);
        events++;
        firstAt ??= event.timestamp;
        lastAt = event.timestamp;
        lastSeq = Math.max(lastSeq, event.seq);
        const [version, runId] = [policyVersionOf(event), runIdOf(event)];
        if (version !== null) versions.add(version);
        if (runId !== null) runIds.add(runId);
        if (events > maxBundleEvents || bytes > maxBundleBytes) {
          await this.#refuseWhole(tenantId, filter, sizeOf);
        }
      }
    }
    // Retention or a purge may have begun with this run since.
    const after = await this.#ports.runs.get(principal, key);
    if (!after) throw notFound('Run not found.');
    requireComplete(after);
    return {
      head,
      writer,
      events,
      firstAt,
      lastAt,
      lastSeq,
      runIds: [...runIds].sort(),
      rulesets: await this.#used(tenantId, view, versions),
    };
  }

  async *#pages(tenantId: string, filter: EventFilter): AsyncGenerator<readonly StoredEvent[]> {
    for (let cursor: string | null = null; ; ) {
      const page = await this.#ports.store.events.search(tenantId, filter, pageSize, cursor, 'oldest');
      yield page.events;
      cursor = page.next;
      if (cursor === null) return;
    }
  }

  /** @throws HubError always: which parts of the run fit a bundle each */
  async #refuseWhole(
    tenantId: string,
    filter: EventFilter,
    sizeOf: (event: StoredEvent) => number,
  ): Promise<never> {
    const seqs: number[] = [];
    const sizes: number[] = [];
    for await (const events of this.#pages(tenantId, filter)) {
      for (const event of events) {
        seqs.push(event.seq);
        sizes.push(sizeOf(event));
      }
      if (seqs.length >= maxCounted) break;
    }
    const arrived = Uint32Array.from(seqs.keys()).sort((a, b) => (seqs[a] ?? 0) - (seqs[b] ?? 0));
    const parts: string[] = [];
    let [from, count, bytes] = [seqs[arrived[0] ?? 0] ?? 0, 0, 0];
    for (const [i, at] of arrived.entries()) {
      count++;
      bytes += sizes[at] ?? 0;
      const seq = seqs[at] ?? 0;
      const next = arrived[i + 1];
      if (next !== undefined && count < partEvents && bytes + (sizes[next] ?? 0) <= partBytes) continue;
      parts.push(`from_seq=${from}&to_seq=${seq}`);
      [from, count, bytes] = [seq + 1, 0, 0];
    }
    const firstParts = parts.slice(0, shownParts).join(', ');
    throw refused(
      'run_too_large',
      `The run is too large: a decision bundle contains at most ${maxBundleEvents} events and ${maxBundleBytes} bytes. Request its parts, each with the previous part's chain_head as prev_head: ${firstParts}${
        parts.length > shownParts ? `, and ${parts.length - shownParts} more` : ''
      }.`,
    );
  }

  async #used(tenantId: string, view: RunView, versions: ReadonlySet<string>): Promise<UsedRuleset[]> {
    return Promise.all(
      [...versions].sort().map(async (policyVersion) => {
        const ruleset = await this.#ports.runs.names.resolve(tenantId, view.run.env, policyVersion);
        if (ruleset === null) return { policyVersion, ruleset, signature: null };
        const page = { limit: maxDeployments, offset: 0 };
        const { items } = await this.#ports.store.deployments.list(
          tenantId,
          { bundleName: ruleset.name },
          page,
        );
        const deployment = items.find(({ revisionHash }) => revisionHash === policyVersion);
        return {
          policyVersion,
          ruleset,
          signature: deployment ? { hex: deployment.signature, publicKey: deployment.publicKey } : null,
        };
      }),
    );
  }

  /** The newest that there is room for, oldest first. */
  async #approvalsOf(
    principal: Principal,
    { agentId, sessionId }: RunKey,
  ): Promise<{ readonly approvals: readonly Approval[]; readonly bytes: number; readonly leftOut: number }> {
    const { clock, store } = this.#ports;
    const { tenantId } = principal;
    const filter = { env: listedEnvs(principal, null), agentId, sessionId };
    const now = clock.now();
    const approvals: Approval[] = [];
    let bytes = 0;
    for (let after: Approval | undefined; ; after = approvals[0]) {
      const page = { limit: approvalsAtOnce, offset: 0, ...omitUndefined({ after }) };
      const { items, more } = await store.approvals.list(tenantId, filter, page, now);
      for (const brief of items) {
        // Lists leave large arguments out.
        const isBrief = brief.toolArgs === null && brief.argsBytes > 0;
        const whole = (isBrief ? await store.approvals.getWhole(tenantId, brief.id) : null) ?? brief;
        // Past its deadline it has timed out, whether or not that was stored yet.
        const approval = asSeen(whole, now);
        bytes += Buffer.byteLength(JSON.stringify(approval));
        if (bytes > maxApprovalBytes) {
          const total = await store.approvals.count(tenantId, filter, now);
          return { approvals, bytes: maxApprovalBytes, leftOut: total - approvals.length };
        }
        approvals.unshift(approval);
      }
      if (!more || items.length === 0) return { approvals, bytes, leftOut: 0 };
    }
  }

  /** A bundle holds a run whole: it needs a role in each environment of its events. @throws HubError forbidden */
  async #requireWhole(principal: Principal, { run }: RunView): Promise<void> {
    if (visibleEnvs(principal) === null) return;
    const { agentId, sessionId, startedAt: since } = run;
    const { by } = await this.#ports.store.events.facets(
      principal.tenantId,
      { env: null, agentId, sessionId, since },
      environments.length,
    );
    for (const { value } of by.env.top) if (isEnv(value)) requireSight(principal, value);
  }
}

export const createEvidence = (ports: Ports): EvidenceOfRuns => new RunEvidence(ports);
