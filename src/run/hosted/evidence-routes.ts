// The route of a run's signed decision bundle.
import { z } from 'zod';
import { instant, intQuery, line } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';

const place = intQuery(0, Number.MAX_SAFE_INTEGER).optional();

export const hostedEvidenceRoutes = routes({
  hostedRunBundle: {
    method: 'GET',
    path: '/v1/runs/{agent_id}/{session_id}/bundle',
    auth: ['operatorJwt'],
    role: 'viewer',
    envs: 'record',
    tag: 'hosted-runs',
    summary:
      'Signed record of a run: its events as a chain, approvals and documents; verify it with `reeve-agent verify`',
    params: z.object({ agent_id: line(255), session_id: line(255) }),
    query: z.object({
      /** The part of the run from this place in the order of arrival on. */
      from_seq: place,
      /** Up to this place. */
      to_seq: place,
      /** The `chain_head` of the part before: the first event of this one follows it. */
      prev_head: z
        .string()
        .regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hex characters')
        .optional(),
    }),
    status: 200,
    download: true,
    search: true,
    reply: z.object({
      schema: z.literal('service.decision-bundle/v1'),
      payload_type: z.literal('application/vnd.service.decision-bundle+json'),
      /** Base64 of the exact bytes that were signed: UTF-8 JSON, keys in order. Equal content gives equal bytes. */
      payload: z.base64(),
      /** Over the envelope (DSSE, version 1) of type and payload. */
      signatures: z.array(z.object({ alg: z.literal('Ed25519'), key_id: z.string(), sig: z.base64() })),
      /** Not signed, like what follows: check with a key that you pinned, not with this one. */
      public_key: z.string(),
      payload_sha256: z.string(),
      issued_at: instant,
    }),
    errors: [
      'forbidden',
      'not_found',
      'validation_failed',
      'response_too_large',
      'rate_limited',
      'search_timeout',
      'unavailable',
    ],
  },
});
