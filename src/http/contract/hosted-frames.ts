// The events of the hosted API's streams. Browser-safe.
import { z } from 'zod';
import { decisionEvent } from '../../event/wire/hosted-event.ts';
import { env } from './fields.ts';
import { consoleAgentFrames, type FrameTable } from './frames.ts';

const hex = (characters: number) => z.string().regex(new RegExp(`^[0-9a-f]{${characters}}$`));

/** The event about a decision event: its data is that event alone. */
export const decisionFrame = 'decision';

/** The event that carries a whole document. */
export const documentEvent = 'contract_update';

export const hostedAgentFrames = {
  ruleset_updated: {
    summary:
      'A ruleset version is deployed to an environment, or signed with a new key; also at connect, if ' +
      'the agent does not run the deployed version. The YAML is at `GET /v1/rulesets/{name}/current`.',
    data: z.object({
      type: z.literal('ruleset_updated'),
      name: z.string(),
      version: z.number().int().min(1),
      revision_hash: hex(64),
      env,
      /** Version that ran before. Null if none did, or if the frame repeats a deployment. */
      previous_version: z.number().int().nullable(),
      deployed_at: z.iso.datetime(),
      /** Base64 of Ed25519 over the YAML's bytes. */
      signature: z.string(),
      public_key: hex(64),
      key_id: hex(16),
    }),
  },
  contract_update: {
    ...consoleAgentFrames.contract_update,
    summary:
      'The same with the document, for a stream that names its bundle, is assigned one, or fetched only that ' +
      'one. The signature is base64.',
  },
  assignment_changed: consoleAgentFrames.assignment_changed,
  decision: {
    summary:
      'A decision event is stored. An agent receives its own events, an operator all in the environment; only one ' +
      'session if the stream names it.',
    data: decisionEvent,
  },
} satisfies FrameTable;

/** Without an `event:` line, which browsers call `message`. */
export const decisionEventFrames = {
  message: {
    summary: 'A decision event is stored. The fields are those of `GET /v1/events`.',
    data: decisionEvent,
  },
} satisfies FrameTable;
