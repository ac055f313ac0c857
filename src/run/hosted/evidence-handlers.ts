// The signed decision bundle of a run, in the hosted API's words.

import { render as renderApproval } from '../../approval/hosted/render.ts';
import { renderEvent } from '../../event/hosted/event.ts';
import type { DecisionClass } from '../../event/record/words.ts';
import type { StoredEvent } from '../../event/record.ts';
import { Reply, Streamed } from '../../http/contract/call.ts';
import { matchesEtag } from '../../http/contract/etag.ts';
import type { Handlers, Hub } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/hosted-principal.ts';
import { micros } from '../../http/contract/hosted-time.ts';
import { keyIdOf } from '../../signing/rules/active-signer.ts';
import { BundleWriter, bundleSchema, bundleType, eventBytes } from '../rules/decision-bundle.ts';
import { runStatus } from '../rules/run.ts';
import type { EvidenceHead, SignedBytes, UsedRuleset } from '../use-cases/evidence.ts';
import type { hostedEvidenceRoutes } from './evidence-routes.ts';

export const hostedEvidence: Handlers<typeof hostedEvidenceRoutes> = {
  async hostedRunBundle(hub, { params, query }, caller, request) {
    const principal = principalOf(caller);
    const key = { agentId: params.agent_id, sessionId: params.session_id };
    const range = { from: query.from_seq ?? null, to: query.to_seq ?? null };
    // The head of the part before, as whoever asks has it: its file shows whether that is true.
    const prevHead = query.prev_head ?? '';
    const evidence = await hub.app.evidence.collect(
      principal,
      key,
      range,
      (head) => new EvidenceBundle(hub, head, prevHead),
      (event) => eventBytes(shownOf(event)),
    );
    const { run } = evidence.head.view;
    const { payload, signed } = evidence.writer.bundle.finish({
      workspace_id: principal.tenantId,
      session_id: run.sessionId,
      parent_session_id: run.facts?.parentSessionId ?? null,
      run_ids: evidence.runIds,
      // The places that were asked for, or null: files of parts that follow each other hold everything between.
      from_seq: range.from,
      to_seq: range.to,
      prev_head: prevHead,
      as_of_seq: evidence.lastSeq,
      event_count: evidence.events,
      first_event_at: evidence.firstAt === null ? null : micros(evidence.firstAt),
      last_event_at: evidence.lastAt === null ? null : micros(evidence.lastAt),
      // Without what the time alone changes: nothing is stale here.
      status: runStatus(run, run.pendingApprovals, { now: 0, staleAfterMs: 0 }),
      rulesets: evidence.rulesets.map((used) => renderRuleset(hub, used)),
      workflow: run.facts?.snapshot?.value ?? null,
      totals: evidence.writer.totals,
      redaction: { client_side: true },
    });
    const digest = hub.secrets.sha256(payload);
    const headers = {
      ETag: `"${digest}"`,
      'Content-Disposition': `attachment; filename="decision-bundle-${fileName(run.agentId)}-${fileName(run.sessionId)}.json"`,
    };
    if (matchesEtag(request.header('if-none-match'), headers.ETag)) {
      return new Reply(null as never, { status: 304, headers });
    }
    const envelope = envelopeOf(await hub.app.evidence.sign(principal, signed), digest, hub.clock.now());
    hub.log.info(
      { agent_id: run.agentId, session_id: run.sessionId, events: evidence.events },
      'built a decision bundle',
    );
    return new Streamed(withPayload(JSON.stringify(envelope), payload), {
      headers,
      held: signed.buffer.byteLength,
    });
  },
};

/** The envelope of a signed bundle, its payload left empty. */
const envelopeOf = ({ signature, publicKey, keyId }: SignedBytes, digest: string, issuedAt: number) => ({
  schema: bundleSchema,
  payload_type: bundleType,
  payload: '',
  signatures: [
    { alg: 'Ed25519' as const, key_id: keyId, sig: Buffer.from(signature, 'hex').toString('base64') },
  ],
  public_key: publicKey,
  payload_sha256: digest,
  issued_at: micros(issuedAt),
});

/** The bundle while its events are added, with their totals. */
class EvidenceBundle {
  readonly bundle: BundleWriter;
  readonly totals: { [C in DecisionClass]?: number } = {};

  constructor(
    { secrets }: Pick<Hub, 'secrets'>,
    { view, approvals, approvalsLeftOut }: EvidenceHead,
    prevHead: string,
  ) {
    const front = {
      agent_id: view.run.agentId,
      approvals: approvals.map(renderApproval),
      // Older ones that there was no room for.
      approvals_left_out: approvalsLeftOut,
    };
    this.bundle = new BundleWriter(front, prevHead, (text) => secrets.sha256(text));
  }

  add(event: StoredEvent): number {
    const visibleEvent = shownOf(event);
    this.totals[visibleEvent.decision] = (this.totals[visibleEvent.decision] ?? 0) + 1;
    return this.bundle.add(visibleEvent);
  }
}

/** The ruleset of a hash may become known later, so only `rulesets` contains it. */
function shownOf(event: StoredEvent) {
  const { ruleset_name: _name, ruleset_version: _version, ...visibleFields } = renderEvent(event, null);
  return visibleFields;
}

/** Bytes that are encoded at once; a multiple of three, so that the pieces of base64 fit together. */
const encodedAtOnce = 48 * 1024;

/** The answer with the payload in its place, in base64: encoded as the client takes it, because it is large. */
async function* withPayload(json: string, payload: Uint8Array): AsyncGenerator<string, void, undefined> {
  const place = json.indexOf('"payload":""') + '"payload":"'.length;
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  yield json.slice(0, place);
  for (let from = 0; from < bytes.length; from += encodedAtOnce) {
    yield bytes.toString('base64', from, from + encodedAtOnce);
  }
  yield json.slice(place);
}

const fileName = (text: string): string => text.replaceAll(/[^A-Za-z0-9._-]/g, '_').slice(0, 64);

const renderRuleset = (
  { secrets }: Pick<Hub, 'secrets'>,
  { policyVersion, ruleset, signature }: UsedRuleset,
) =>
  ruleset === null
    ? { policy_version: policyVersion, name: null }
    : {
        name: ruleset.name,
        version: ruleset.version,
        revision_hash: policyVersion,
        signature: signature && Buffer.from(signature.hex, 'hex').toString('base64'),
        key_id: signature && keyIdOf(secrets, signature.publicKey),
      };
