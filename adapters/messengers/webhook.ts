// Generic webhooks: the payloads of both APIs, signed over the exact bytes that are sent.
import { createHmac } from 'node:crypto';
import type { Approval } from '../../src/approval/record.ts';
import type { Sending } from '../../src/notification/port/messengers.ts';
import type { ConfigOf } from '../../src/notification/record.ts';
import type { AttemptOutcome } from '../../src/notification/rules/delivery.ts';
import type { Notice } from '../../src/notification/rules/notice.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { Outbound } from '../../src/shared/ports/outbound.ts';
import { attemptMs, outcomeOfError, outcomeOfStatus } from './answers.ts';

export interface WebhookParts {
  readonly outbound: Pick<Outbound, 'open'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Carries `sha256=` and the hex HMAC-SHA256 of the body. */
  readonly signatureHeader: string;
  readonly version: string;
}

/** The first members of both APIs' requests. */
const callOf = ({ id, agentId, toolName, toolArgs }: Approval) => ({
  approval_id: id,
  agent_id: agentId,
  tool_name: toolName,
  tool_args: toolArgs,
});

/** The console's payloads. Null: this notice is not for webhooks. */
function consolePayload(notice: Notice): object | null {
  switch (notice.kind) {
    case 'requested': {
      const { approval } = notice;
      return {
        event: 'approval_requested',
        ...callOf(approval),
        message: approval.message,
        env: approval.env,
        timeout_seconds: approval.timeoutSeconds,
        timeout_effect: approval.timeoutEffect,
        tenant_id: approval.tenantId,
        ...(approval.contractName === null ? {} : { contract_name: approval.contractName }),
      };
    }
    case 'decided': {
      const { id, status, decidedBy, decisionReason } = notice.approval;
      return {
        event: 'approval_decided',
        approval_id: id,
        status,
        decided_by: decidedBy,
        reason: decisionReason,
      };
    }
    case 'toolChanged': {
      const { id, tenantId, env, server, tool, fingerprint, isChange } = notice.entry;
      return {
        event: 'tool_definition_changed',
        tool_pin_id: id,
        tenant_id: tenantId,
        env,
        server,
        tool,
        fingerprint,
        changed: isChange,
        waiting: notice.isWaiting,
        undecided: notice.undecided,
        link: notice.link,
      };
    }
    case 'test':
      return { event: 'test', message: 'This is a test notification.' };
    case 'expired':
    case 'unknown':
      return null;
  }
}

/** As the hosted API shows times. */
const micros = (at: number): string => new Date(at).toISOString().replace('Z', '000Z');

/** The hosted API's payload: approval requests alone, without a wrapper. */
function hostedPayload(notice: Notice, now: number): object | null {
  if (notice.kind === 'test') {
    return {
      approval_id: notice.approvalId,
      agent_id: 'test',
      tool_name: 'test',
      tool_args: null,
      decision: 'test',
      rule_name: 'test',
      reason: 'This is a test notification.',
      timestamp: micros(now),
      timeout_seconds: 300,
      message: 'This is a test notification.',
    };
  }
  if (notice.kind !== 'requested') return null;
  const { approval } = notice;
  return {
    ...callOf(approval),
    decision: 'pending',
    rule_name: approval.contractName ?? approval.toolName,
    reason: approval.message,
    timestamp: micros(approval.createdAt),
    timeout_seconds: approval.timeoutSeconds,
    message: approval.message,
  };
}

/** A secret of the Standard Webhooks form is the base64 after its prefix; any other is its own bytes. */
const standardKey = (secret: string): Buffer =>
  secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret);

function signatures(header: string, secret: string, id: string, seconds: string, body: string) {
  const own = createHmac('sha256', secret).update(body).digest('hex');
  const standard = createHmac('sha256', standardKey(secret))
    .update(`${id}.${seconds}.${body}`)
    .digest('base64');
  return { [header]: `sha256=${own}`, 'webhook-signature': `v1,${standard}` };
}

/** One attempt. The body of the answer is never read. @throws OutboundError('aborted') */
export async function sendWebhook(
  { outbound, clock, signatureHeader, version }: WebhookParts,
  { url, secret }: ConfigOf<'webhook'>,
  { notice, payloadStyle, deliveryId, signal }: Sending,
): Promise<AttemptOutcome> {
  const now = clock.now();
  const payload = payloadStyle === 'hosted' ? hostedPayload(notice, now) : consolePayload(notice);
  if (payload === null) return { kind: 'delivered', status: null, messageId: null };
  const body = JSON.stringify(payload);
  const id = `msg_${deliveryId}`;
  const seconds = String(Math.floor(now / 1000));
  try {
    const answer = await outbound.open({
      method: 'POST',
      url,
      headers: {
        'content-type': 'application/json',
        'user-agent': `Reeve/${version}`,
        'webhook-id': id,
        'webhook-timestamp': seconds,
        ...(secret === null ? {} : signatures(signatureHeader, secret, id, seconds, body)),
      },
      body,
      timeoutMs: attemptMs,
      maxBytes: 0,
      ...(signal ? { signal } : {}),
    });
    answer.close();
    return outcomeOfStatus(answer, clock.now());
  } catch (error) {
    return outcomeOfError(error);
  }
}
